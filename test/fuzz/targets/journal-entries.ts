/**
 * Entries that were signed by a writer gone wrong: each line of the input is one event, and the place in the chain is made
 * right. The signature is not the question here, so none is made: what is read is what stands behind a signature that holds.
 */
import { GENESIS, type HexHash, type Id, type IdKind, isFault, readJson } from '../../../src/core/index.ts'
import { type Entry, type Event, toWire, wireEventShape } from '../../../src/events/index.ts'
import type { VerifiedPrefix } from '../../../src/journal/evidence.ts'
import { answerIn, recoveryReport, runFacts, viewStatus } from '../../../src/journal/index.ts'
import { type ExpectedPlace, readRecord } from '../../../src/journal/record.ts'
import { PRINCIPAL, REFERENCE } from '../../support/budget.ts'
import {
  approved,
  dispatch,
  FINGERPRINT,
  opened,
  RUN_KEY,
  reservation,
  started,
  terminated,
  toolCall,
} from '../../support/history.ts'
import { answer, must, presentable, pure, type Target, textOf } from '../target.ts'

// fixed ids, or what is kept would be strange to the next process
const idOf = <K extends IdKind>(last: number): Id<K> => `3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e${last}` as Id<K>
const ROOT = idOf<'root'>(30)
const first = dispatch(idOf(20))
const second = dispatch(idOf(21))
const held = reservation({ id: idOf(31), root_id: ROOT })
const lost = reservation({
  id: idOf(32),
  root_id: ROOT,
  ancestors: [
    { scope: 2, parent: 0, limit: 300 },
    { scope: 0, parent: null, limit: 1000 },
  ],
})
const text = (...events: readonly Event[]): string => events.map((event) => JSON.stringify(toWire(event))).join('\n')
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
const network = (effect: object): string =>
  JSON.stringify({ ToolEffect: { run_key: RUN_KEY, call_fingerprint: FINGERPRINT, effect } })

export const journalEntries: Target = {
  name: 'journal-entries',
  property:
    'a record is read as the event that was signed, or refused; a history is reported, or refused at an entry of it, and so is each of its beginnings; an effect is known only where its own end is recorded, and nothing is complete without an end',
  seeds: [
    text(started, terminated()),
    text(started, approved(1, toolCall('call-1')).event, first.start, first.finish(), terminated()),
    text(started, first.start, second.start, second.finish(true), terminated('UnconfirmedEffects')),
    text(started, opened(1000, ROOT), held.start, held.finish('confirmed', usage), lost.start, terminated()),
    text(started, opened(1000, ROOT), lost.start, lost.finish('unknown'), {
      kind: 'BudgetUpdated',
      budget: {
        root_id: ROOT,
        scope: 0,
        limit: 1000,
        usage: { ...usage, total_tokens: 0 },
        reserved_tokens: 0,
        uncertain_tokens: 300,
        available_tokens: 700,
        exceeded: false,
      },
    } as never),
    `${text(started)}\n${JSON.stringify({ ReasoningComplete: { iteration: 1, actions: [{ ToolCall: { call_id: 'call-1', name: 'x', arguments: '{}' } }, { Respond: { content: 'y' } }], usage } })}`,
    `${text(started)}\n${JSON.stringify({ DelegationStarted: { run_key: RUN_KEY, call_id: 'd', call_fingerprint: FINGERPRINT, target: 't', child_agent_id: PRINCIPAL, audit: REFERENCE, system_prompt_hash: '0'.repeat(64), message_hash: '1'.repeat(64) } })}\n${JSON.stringify({ DelegationFinished: { run_key: RUN_KEY, call_id: 'd', audit: REFERENCE, reason: 'Completed', output_hash: '2'.repeat(64) } })}\n${text(terminated())}`,
    `${text(started)}\n${JSON.stringify({ ResponseDeliveryStarted: { fingerprint: FINGERPRINT, request_hash: FINGERPRINT, request_bytes: 3 } })}\n${JSON.stringify({ ResponseDeliveryFinished: { fingerprint: FINGERPRINT, receipt: null, confirmed: true, error: null } })}`,
    JSON.stringify({
      InferenceRequested: {
        request_id: 'r',
        endpoint: 'e',
        model: 'm',
        request_hash: FINGERPRINT,
        reserved_output_tokens: 1,
      },
    }),
    [
      text(started, first.start),
      network({
        NetworkRequestStarted: {
          request_id: 'n',
          method: 'GET',
          url: 'http://a/',
          request_hash: 'h',
          request_bytes: 0,
        },
      }),
      network({
        NetworkRequestFinished: {
          request_id: 'n',
          status: 200,
          response_hash: 'h',
          response_headers_hash: null,
          response_bytes: 2,
          error: null,
        },
      }),
      text(first.finish(), terminated('Timeout')),
    ].join('\n'),
  ],
  words: [
    '\n',
    '"Completed"',
    '"iteration":',
    '"call_id":"call-1"',
    '"is_error":true',
    'null',
    '"approved_calls":',
    '"outcome":"unknown"',
    '"PolicyEvaluated":',
    '"BudgetUpdated":',
    '"ToolBatchCompleted":',
    '"DirectInferenceRequested":',
    'http',
    '{"Error":{"message":"x"}}',
  ],
  bytesMax: 4096,
  steps: { fixed: 60_000, perByte: 400 },
  open: () => pure(check),
}

const RECORDS_MAX = 12

function check(input: Uint8Array): void {
  const entries = entriesIn(textOf(input).split('\n').slice(0, RECORDS_MAX))
  if (entries.length === 0) return
  const whole = reportOf(entries)
  for (let count = 1; count < entries.length; count += 1) {
    const part = reportOf(entries.slice(0, count))
    must(whole === null || part !== null, 'what a crash leaves of a history that can have happened can have happened')
  }
}

function entriesIn(lines: readonly string[]): readonly Entry[] {
  const entries: Entry[] = []
  let place: ExpectedPlace = { sequence: 0, previousHash: GENESIS, agentId: null, runId: null }
  for (const event of lines) {
    if (answer(() => readJson(event)).kind === 'Fault') return entries // one event, and nothing around it
    const payload = `{"entry":{"agent_id":"${PRINCIPAL}","event":${event},"iteration":1,"sequence":${place.sequence},"timestamp":"2026-03-04T10:11:12.131Z"},"previous_hash":"${place.previousHash}","run_id":"${REFERENCE.run_id}","version":2}`
    const read = answer(() => readRecord(Buffer.from(`${payload}\n`), Buffer.from(payload), place))
    if (read.kind === 'Fault') {
      must(isFault(read.fault, 'EVIDENCE_INVALID'), 'a refusal is EVIDENCE_INVALID')
      return entries
    }
    const { entry, runId, lineHash } = read.value
    checkEvent(event, entry)
    entries.push(entry)
    place = { sequence: place.sequence + 1, previousHash: lineHash as HexHash, agentId: entry.agent_id, runId }
  }
  return entries
}

/** An event is the one that was signed; members of newer writers are left out, and nothing is added. */
function checkEvent(text: string, { event }: Entry): void {
  const wire = toWire(event)
  const written = wireEventShape.write(wire)
  must(
    written === wireEventShape.write(readJson(written, { depthMax: 640 }) as typeof wire),
    'an event that is written again reads as itself',
  )
  const signed = readJson(text, { depthMax: 640 }) as { readonly [kind: string]: unknown }
  must(Object.keys(signed)[0] === event.kind || typeof signed === 'string', 'the kind is the one that was signed')
}

function reportOf(entries: readonly Entry[]): object | null {
  const prefix: VerifiedPrefix = {
    run_id: REFERENCE.run_id,
    agent_id: PRINCIPAL,
    entries,
    snapshot_sha256: GENESIS,
    verified_bytes: 1000,
    unverified_tail_bytes: 0,
  }
  const read = answer(() => recoveryReport(prefix))
  answer(() => runFacts(prefix))
  answer(() => answerIn(entries))
  if (read.kind === 'Fault') {
    presentable(read.fault)
    must(isFault(read.fault, 'EVIDENCE_INVALID'), 'a refusal is EVIDENCE_INVALID')
    return null
  }
  const report = read.value
  const ends = new Set(
    entries.flatMap(({ event }) => (event.kind === 'ToolDispatchFinished' ? [event.dispatch_id] : [])),
  )
  const starts = entries.filter(({ event }) => event.kind === 'ToolDispatchStarted').length
  must(report.effects.length >= starts, 'every intent is an effect of the report')
  const open = entries.some(({ event }) => event.kind === 'ToolDispatchStarted' && !ends.has(event.dispatch_id))
  must(
    !open || report.effects.some(({ outcome }) => outcome === 'unknown'),
    'an intent without its end is an unknown effect',
  )
  must(!open || report.requires_reconciliation, 'an unknown effect needs a person')
  must(!report.journal_complete || entries.at(-1)?.event.kind === 'Terminated', 'nothing is complete without its end')
  must(viewStatus(report) !== 'completed' || !report.requires_reconciliation, 'what needs a person is not completed')
  return report
}
