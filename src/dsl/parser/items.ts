/** The items of a file, apart from agents and policies: metadata, types, schedules, channels, memories and webhooks. */
import { called, described, isMark, type Token } from '../lexer/token.ts'
import type {
  Channel,
  Item,
  Memory,
  Metadata,
  Parameter,
  Property,
  Schedule,
  Struct,
  SubBlock,
  TypeDefinition,
  Webhook,
} from '../tree.ts'
import { readAgent, readFunction } from './agents.ts'
import { readBraces } from './braces.ts'
import type { Cursor } from './cursor.ts'
import { readItemName, readName, readParameter } from './names.ts'
import { ITEM_MISSES, meant } from './near-misses.ts'
import { readPolicy } from './policies.ts'
import { type PropertyForm, readProperty } from './properties.ts'

const READERS: Readonly<Record<Item['kind'], (cursor: Cursor) => Item>> = {
  metadata: readMetadata,
  agent: readAgent,
  policy: readPolicy,
  type: readTypeDefinition,
  function: readFunction,
  schedule: readSchedule,
  channel: readChannel,
  memory: readMemory,
  webhook: readWebhook,
}
const ITEM_WORDS = Object.keys(READERS)

/** Whether an item may begin here, as a place to go on after an error. */
export function beginsItem(cursor: Cursor, index: number): boolean {
  const [word, next] = [cursor.at(index), cursor.at(index + 1)]
  return word.kind === 'word' && Object.hasOwn(READERS, word.text) && (next.kind === 'word' || isMark(next, '{'))
}

export function readItem(cursor: Cursor): Item {
  const { token } = cursor
  if (token.kind === 'word' && Object.hasOwn(READERS, token.text)) return READERS[token.text as Item['kind']](cursor)
  return refuseItem(cursor)
}

function refuseItem(cursor: Cursor): never {
  const { token } = cursor
  if (isMark(token, '}'))
    cursor.fail('this "}" closes nothing', { hint: 'Remove it, or add the "{" that it belongs to' })
  if (token.kind !== 'word') {
    cursor.fail(`an item is expected, and ${described(token)} stands there`, { hint: `${ACCEPTED}: agent name {}` })
  }
  cursor.fail(`${described(token)} begins no item`, { code: 'E110', hint: () => hintFor(token.text) })
}

const ACCEPTED = 'A file holds metadata, agent, policy, type, function, schedule, channel, memory and webhook'

function hintFor(word: string): string {
  const miss = Object.hasOwn(ITEM_MISSES, word) ? ITEM_MISSES[word] : undefined
  const near = meant(word, ITEM_WORDS)
  return miss ?? (near === null ? ACCEPTED : `Did you mean "${near}"? ${ACCEPTED}`)
}

const METADATA: PropertyForm = { separators: ['=', ':'], also: ['array', 'record'], example: 'version = "1.0"' }

function readMetadata(cursor: Cursor): Metadata {
  const { start } = cursor.next()
  const entries = readProperties(cursor, 'the metadata', 'metadata { version = "1.0" }', METADATA)
  return { kind: 'metadata', entries, span: cursor.span(start) }
}

function readProperties(cursor: Cursor, what: string, form: string, property: PropertyForm): readonly Property[] {
  const entries: Property[] = []
  readBraces(cursor, {
    what,
    form,
    read: () => entries.push(readProperty(cursor, property)),
    starts: (index) => beginsProperty(cursor, index),
  })
  return entries
}

function beginsProperty(cursor: Cursor, index: number): boolean {
  const next = cursor.at(index + 1)
  return cursor.at(index).kind === 'word' && (isMark(next, '=') || isMark(next, ':'))
}

function readTypeDefinition(cursor: Cursor): TypeDefinition {
  const { start } = cursor.next()
  const form = 'type Name = { field: String }'
  const name = readItemName(cursor, 'type', form)
  if (!cursor.take('=')) {
    cursor.fail(`"=" is expected, and ${described(cursor.token)} stands there`, { hint: `Write ${form}` })
  }
  const definition = cursor.is('{') ? readStruct(cursor, name.text, form) : readName(cursor, 'a type', `Write ${form}`)
  return { kind: 'type', name, definition, span: cursor.span(start) }
}

function readStruct(cursor: Cursor, name: string, form: string): Struct {
  const { start } = cursor.token
  const fields: Parameter[] = []
  readBraces(cursor, {
    what: `the type "${name}"`,
    form,
    read: () => {
      fields.push(readParameter(cursor))
      cursor.take(',')
    },
    starts: (index) => beginsProperty(cursor, index),
  })
  return { kind: 'struct', fields, span: cursor.span(start) }
}

function readSchedule(cursor: Cursor): Schedule {
  const { start } = cursor.next()
  const form = 'schedule name { cron: "0 0 8 * * *", agent: "name" }'
  const name = readItemName(cursor, 'schedule', form)
  const property: PropertyForm = { separators: [':', '='], also: [], example: 'cron: "0 0 8 * * *"' }
  const entries = readProperties(cursor, `the schedule "${called(name)}"`, form, property)
  return { kind: 'schedule', name, entries, span: cursor.span(start) }
}

function readChannel(cursor: Cursor): Channel {
  const { start } = cursor.next()
  const form = 'channel name { platform: "slack" }'
  const name = readItemName(cursor, 'channel', form)
  const property: PropertyForm = { separators: [':', '='], also: ['array'], example: 'platform: "slack"' }
  const category: PropertyForm = { separators: [':'], also: [], example: 'data_classification { personal: redact }' }
  const members: Channel['members'][number][] = []
  readBraces(cursor, {
    what: `the channel "${called(name)}"`,
    form,
    read: () => {
      if (cursor.isWord('policy') && beginsPolicy(cursor.ahead())) members.push(readPolicy(cursor))
      else if (beginsSubBlock(cursor)) members.push(readSubBlock(cursor, 'data_classification', category))
      else members.push(readProperty(cursor, property))
    },
    starts: (index) => beginsProperty(cursor, index),
  })
  return { kind: 'channel', name, members, span: cursor.span(start) }
}

/** Otherwise it is a field of that name. */
const beginsPolicy = (next: Token): boolean => next.kind === 'word' || isMark(next, '{')

function readMemory(cursor: Cursor): Memory {
  const form = 'memory name { store markdown }'
  return { kind: 'memory', ...readBareBlock(cursor, form, 'search', 'store markdown', []) }
}

function readWebhook(cursor: Cursor): Webhook {
  const form = 'webhook name { path "/in" }'
  return { kind: 'webhook', ...readBareBlock(cursor, form, 'filter', 'path "/in"', ['vault-url']) }
}

function readBareBlock(
  cursor: Cursor,
  form: string,
  inner: 'search' | 'filter',
  example: string,
  also: PropertyForm['also'],
): Omit<Memory, 'kind'> {
  const word = cursor.next()
  const name = readItemName(cursor, word.text, form)
  const members: (Property | SubBlock)[] = []
  const property: PropertyForm = { separators: [''], also, example }
  readBraces(cursor, {
    what: `the ${word.text} "${called(name)}"`,
    form,
    read: () => {
      members.push(beginsSubBlock(cursor) ? readSubBlock(cursor, inner, property) : readProperty(cursor, property))
    },
    starts: () => false,
  })
  return { name, members, span: cursor.span(word.start) }
}

const beginsSubBlock = (cursor: Cursor): boolean => cursor.token.kind === 'word' && isMark(cursor.ahead(), '{')

function readSubBlock(cursor: Cursor, name: SubBlock['name'], property: PropertyForm): SubBlock {
  const { token } = cursor
  if (token.text !== name) {
    cursor.fail(`there is no block ${described(token)} here`, { hint: `The only block inside is ${name} { … }` })
  }
  cursor.next()
  const entries = readProperties(cursor, `the block "${name}"`, `${name} { … }`, property)
  return { kind: 'sub-block', name, entries, span: cursor.span(token.start) }
}
