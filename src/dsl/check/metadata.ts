/** The metadata of a file (1.5). All its blocks are one table: a key stands for one value. */
import { executorProblems } from '../canonical.ts'
import { meant } from '../parser/near-misses.ts'
import type { Problem } from '../problems.ts'
import type { Name, Property, Source } from '../tree.ts'
import { conflict, quoted, refusal, warning } from './found.ts'

const DESCRIPTIVE = ['version', 'author', 'description', 'license', 'tags', 'executor']
/** What only a managed command line would read; it does not exist here. */
const MANAGED = ['model', 'allowed_tools', 'system_prompt', 'permission_mode', 'human_approval']

export function metadataProblems({ items }: Source): readonly Problem[] {
  const first = new Map<string, Name>()
  return items
    .flatMap((item) => (item.kind === 'metadata' ? item.entries : []))
    .flatMap((entry) => [...repeated(entry, first), ...entryProblems(entry)])
}

function repeated({ key }: Property, seen: Map<string, Name>): readonly Problem[] {
  const first = seen.get(key.text)
  if (first === undefined) seen.set(key.text, key)
  if (first === undefined) return []
  const message = `the metadata key ${quoted(key.text)} stands here twice`
  return [conflict('E150', key, first, { message, hint: 'Metadata belongs to the whole file: keep one of the two' })]
}

function entryProblems(entry: Property): readonly Problem[] {
  const { key, value } = entry
  if (key.text === 'human_approval' && value.kind !== 'boolean') {
    return [refusal('E180', value, '"human_approval" is true or false', 'Write human_approval = true')]
  }
  if (MANAGED.includes(key.text)) {
    const message = `the metadata key ${quoted(key.text)} has no effect here`
    return [
      warning('W210', key, message, 'It configures a managed command line; what an agent may do is said by policies'),
    ]
  }
  if (DESCRIPTIVE.includes(key.text)) return executorProblems(entry)
  const message = `the metadata key ${quoted(key.text)} is unknown, and has no effect`
  return [warning('W210', key, message, () => hintFor(key.text))]
}

function hintFor(key: string): string {
  const known = [...DESCRIPTIVE, ...MANAGED]
  const near = meant(key, known)
  return near === null ? `Known are ${known.join(', ')}` : `Did you mean "${near}"?`
}
