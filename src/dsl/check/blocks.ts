/**
 * Schedules, channels, webhooks and memories: whether each could be used at all (1.7), and that nothing here acts on any of
 * them yet. A file that holds one is refused by every route, because running it as if the block were not there would ignore
 * what its author asked for (1.8).
 */
import { meant } from '../parser/near-misses.ts'
import type { Problem } from '../problems.ts'
import type { Channel, Item, Memory, Name, Property, Schedule, SubBlock, Webhook } from '../tree.ts'
import { type BlockKind, fieldForm, fieldsOf } from './block-forms.ts'
import { conflict, quoted, refusal } from './found.ts'

type Block = Schedule | Channel | Memory | Webhook

export const isBlock = (item: Item): item is Block =>
  item.kind === 'schedule' || item.kind === 'channel' || item.kind === 'memory' || item.kind === 'webhook'

/** `hurt`: a part of it was not understood, so nothing is said about what is missing. */
export function blockProblems(block: Block, hurt: boolean): readonly Problem[] {
  const parts = block.kind === 'schedule' ? block.entries : block.members
  const properties = parts.filter((part) => part.kind === 'property')
  const inner = parts.filter((part) => part.kind === 'sub-block')
  return [
    notActedOn(block),
    ...(hurt ? [] : missing(block, properties)),
    ...fieldProblems(block.kind, properties),
    ...inner.flatMap(({ name, entries }) => fieldProblems(name, entries)),
  ]
}

function notActedOn({ kind, name, span }: Block): Problem {
  const place = { span: { start: span.start, end: name.span.end } }
  const message = `nothing here acts on the ${kind} ${quoted(name.text)}`
  return refusal('E180', place, message, `${INSTEAD[kind]}. Take it out: a file that holds one is refused as a whole`)
}

const INSTEAD: Readonly<Record<BlockKind, string>> = {
  schedule: 'Let the scheduler of the machine start the agent',
  channel: 'Chats come in through the server',
  webhook: 'Requests come in through the server',
  memory: 'An agent keeps nothing from one run to the next',
}

function missing(block: Block, properties: readonly Property[]): readonly Problem[] {
  const keyed = (key: string): Property | undefined => properties.find((property) => property.key.text === key)
  if (block.kind === 'schedule') return whenProblems(block, keyed('cron'), keyed('at'))
  if (block.kind === 'memory') return []
  const required = block.kind === 'channel' ? 'platform' : 'path'
  if (keyed(required) !== undefined) return []
  const message = `the ${block.kind} ${quoted(block.name.text)} has no "${required}"`
  return [refusal('E140', block.name, message, `Write ${fieldForm(block.kind, required)?.example ?? required}`)]
}

function whenProblems({ name }: Schedule, cron?: Property, at?: Property): readonly Problem[] {
  const hint = 'Write cron: "0 30 2 * * *" for again and again, or at: "2030-01-31T08:00:00Z" for once'
  if (cron === undefined && at === undefined) {
    return [refusal('E140', name, `the schedule ${quoted(name.text)} has neither "cron" nor "at"`, hint)]
  }
  if (cron === undefined || at === undefined) return []
  const [first, second] = cron.span.start < at.span.start ? [cron, at] : [at, cron]
  const message = `the schedule ${quoted(name.text)} has both "cron" and "at"`
  return [conflict('E140', second, first, { message, hint })]
}

function fieldProblems(where: BlockKind | SubBlock['name'], properties: readonly Property[]): readonly Problem[] {
  const seen = new Map<string, Name>()
  return properties.flatMap((property) => [...repeated(property, seen), ...valueProblems(where, property)])
}

function repeated({ key }: Property, seen: Map<string, Name>): readonly Problem[] {
  const first = seen.get(key.text)
  if (first === undefined) seen.set(key.text, key)
  if (first === undefined) return []
  return [conflict('E150', key, first, { message: `the key ${quoted(key.text)} stands here twice`, hint: 'Keep one' })]
}

function valueProblems(where: BlockKind | SubBlock['name'], { key, value }: Property): readonly Problem[] {
  const form = fieldForm(where, key.text)
  if (form === undefined) return [unknownField(where, key)]
  if (form.accepts(value)) return []
  return [refusal('E140', value, `${quoted(key.text)} takes ${form.takes}`, `Write ${form.example}`)]
}

function unknownField(where: BlockKind | SubBlock['name'], key: Name): Problem {
  return refusal('E140', key, `a ${where} has no field ${quoted(key.text)}`, () => {
    const known = fieldsOf(where)
    const near = meant(key.text, known)
    return near === null ? `There are ${known.join(', ')}` : `Did you mean "${near}"?`
  })
}
