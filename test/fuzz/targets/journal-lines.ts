/** The bytes of a journal, in the hands of somebody who has no key. */
import { type Id, isFault, type RunId } from '../../../src/core/index.ts'
import { toWire } from '../../../src/events/index.ts'
import { parsePublicKey, recoveryReport, verifyPrefixBytes } from '../../../src/journal/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { PRINCIPAL } from '../../support/budget.ts'
import { dispatch, started, terminated } from '../../support/history.ts'
import { madeKey, makeLines, OTHER_RUN, RUN } from '../../support/journal-maker.ts'
import { answerOf, must, pure, type Target } from '../target.ts'

const KEY = madeKey(7)
const call = dispatch('3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e20' as Id<'dispatch'>) // fixed, or what is kept would be strange to the next process
const plan = { key: KEY, agentId: PRINCIPAL, events: [started, call.start, call.finish(), terminated()].map(toWire) }
const LINES = makeLines(plan)
const HONEST = Buffer.concat(LINES)
const OTHERS = [
  makeLines({ ...plan, runId: OTHER_RUN }),
  makeLines({ ...plan, version: 1 }),
  makeLines({ ...plan, key: madeKey(8) }),
]

export const journalLines: Target = {
  name: 'journal-lines',
  property:
    'a journal that is accepted is, byte for byte, a prefix of the honest one, and what follows it is one unfinished line that nobody trusts',
  seeds: [
    HONEST,
    HONEST.subarray(0, HONEST.length - 40),
    Buffer.concat(LINES.slice(0, 2)),
    Buffer.concat([LINES[0] as Buffer, LINES[2] as Buffer]),
    Buffer.concat([HONEST, LINES[3] as Buffer]),
    ...OTHERS.map((lines) => Buffer.concat(lines)),
    Buffer.concat([LINES[0] as Buffer, OTHERS[0]?.[1] as Buffer]),
  ],
  words: [
    '{"payload":',
    ',"signature":"',
    '"}\n',
    '\n',
    ' ',
    '"version":1',
    '"version":2',
    '"run_id":',
    '"previous_hash":',
    '"sequence":1',
  ],
  bytesMax: 8192,
  steps: { fixed: 20_000, perByte: 60 },
  open: () => pure(check),
}

async function check(input: Uint8Array): Promise<void> {
  const key = parsePublicKey(KEY.publicHex)
  const read = await answerOf(() => verifyPrefixBytes(nodeWorld(), input, key, RUN as RunId, { threads: 1 }))
  if (read.kind === 'Fault') {
    must(isFault(read.fault, 'EVIDENCE_INVALID'), 'a refusal is EVIDENCE_INVALID')
    return
  }
  const { verified_bytes, unverified_tail_bytes, entries } = read.value
  must(verified_bytes + unverified_tail_bytes === input.length, 'every byte is verified or left out')
  must(
    HONEST.subarray(0, verified_bytes).equals(input.subarray(0, verified_bytes)),
    'what is accepted is a prefix of the honest journal',
  )
  must(
    HONEST[verified_bytes - 1] === 0x0a && !input.subarray(verified_bytes).includes(0x0a),
    'it ends with a line, and one fragment follows',
  )
  must(
    recoveryReport(read.value).journal_complete === (entries.length === LINES.length && unverified_tail_bytes === 0),
    'only the whole of it is complete',
  )
}
