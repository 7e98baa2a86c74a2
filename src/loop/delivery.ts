/**
 * Response delivery: a reply that leaves the process is an effect like any other, with an intent before it and a receipt
 * after it (5.6). No journal, no send; an unconfirmed or failed delivery ends the run with an error.
 */
import type { Grant } from '../calls/index.ts'
import { cutText, digest, Fault, type Json, messageOf } from '../core/index.ts'
import { raceDeadline } from '../world/index.ts'
import { type Finished, failedWith, type Run } from './run.ts'

const REQUEST_BYTES_MAX = 4 * 1024 * 1024
const RECEIPT_BYTES_MAX = 64 * 1024
const ERROR_CHARACTERS_MAX = 4096

export interface ResponseDelivery {
  /** The request as it will be sent, without credentials. */
  format(content: string): string
  /** Sends it once. `confirmed` only when the other side said so; the receipt is what it answered. */
  send(request: string, signal: AbortSignal): Promise<{ readonly confirmed: boolean; readonly receipt: Json }>
}

/** Null when the reply was delivered, or the end of the run. */
export async function deliver(
  run: Run,
  delivery: ResponseDelivery,
  grant: Grant,
  content: string,
  signal: AbortSignal,
): Promise<Finished | null> {
  const request = delivery.format(content)
  const bytes = Buffer.byteLength(request)
  if (bytes > REQUEST_BYTES_MAX) return failedWith(`the reply is ${bytes} bytes long and cannot be delivered`)
  const { fingerprint } = grant.call
  await run.recorder.commit({
    kind: 'ResponseDeliveryStarted',
    fingerprint,
    request_hash: digest(request),
    request_bytes: bytes,
  })
  const late = (): Error =>
    new Fault('RUN_TIMEOUT', { message: 'Cannot wait for the delivery any longer: its time is over' })
  try {
    const race = { clock: run.world.clock, deadlineMs: grant.deadlineMs, late }
    const { confirmed, receipt } = await raceDeadline(race, signal, (inner) => delivery.send(request, inner))
    const fits = Buffer.byteLength(JSON.stringify(receipt ?? null)) <= RECEIPT_BYTES_MAX
    const known = confirmed && fits
    run.recorder.stage({
      kind: 'ResponseDeliveryFinished',
      fingerprint,
      receipt: fits ? receipt : null,
      confirmed: known,
      error: fits ? null : 'the receipt is too large to be kept',
    })
    return known ? null : failedWith('the delivery of the reply is unconfirmed')
  } catch (error) {
    signal.throwIfAborted()
    const text = cutText(messageOf(error), ERROR_CHARACTERS_MAX)
    run.recorder.stage({ kind: 'ResponseDeliveryFinished', fingerprint, receipt: null, confirmed: false, error: text })
    return failedWith('the reply could not be delivered')
  }
}
