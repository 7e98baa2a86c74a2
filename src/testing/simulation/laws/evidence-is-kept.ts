/**
 * Evidence is kept (law 7): what was durable once stays, byte for byte, at the head of what is durable later, and no name goes
 * away. A held approval may leave the folder of the live ones only for its end, and its end only for the settled ones.
 */
import { basename } from 'node:path'
import { type EvidenceReader, HELD, SETTLED } from './evidence.ts'
import { sameBytes, startsWith } from './journal-reader.ts'
import type { Law } from './law.ts'
import type { Seen } from './seen.ts'

const LOOKS: ReadonlySet<Seen['kind']> = new Set([
  'Booted',
  'BootFailed',
  'Crashed',
  'Closed',
  'Told',
  'DecisionTold',
  'EffectBegan',
  'InferenceBegan',
])

type Files = ReadonlyMap<string, Uint8Array>

export function evidenceIsKept(reader: EvidenceReader): Law {
  let before: Files = new Map()
  const compare = (files: Files): string | null => {
    const reason = before === files ? null : whyLost(before, files)
    before = files
    return reason
  }
  return {
    name: 'evidence is kept',
    watch: (seen, disk) => (LOOKS.has(seen.kind) ? compare(reader.at(seen, disk).files) : null),
    settle: (life) => compare(reader.at(life.seen, life.disk).files),
  }
}

function whyLost(before: Files, now: Files): string | null {
  for (const [path, bytes] of before) {
    const found = now.get(path)
    if (found === bytes) continue
    if (found === undefined) {
      if (movedOn(path, bytes, now)) continue
      return `${path} was durable with ${bytes.length} bytes, and is gone`
    }
    const kept = path.endsWith('.jsonl') ? startsWith(found, bytes) : sameBytes(found, bytes)
    if (!kept)
      return `${path} was durable with ${bytes.length} bytes, and they are not the first of the ${found.length} there now`
  }
  return null
}

/** Whether a held record went where it may go. */
function movedOn(path: string, bytes: Uint8Array, now: Files): boolean {
  const [, handle, what] = /^[0-9a-f]{16}\.([0-9a-f]{16})\.(json|decision\.json|end\.json)$/.exec(basename(path)) ?? []
  if (!path.startsWith(`${HELD}/`) || handle === undefined) return false
  const settled = now.get(`${SETTLED}/${handle}.json`)
  if (what === 'end.json') return settled !== undefined && sameBytes(settled, bytes)
  return (
    settled !== undefined ||
    [...now.keys()].some((each) => each.startsWith(`${HELD}/`) && each.endsWith(`.${handle}.end.json`))
  )
}
