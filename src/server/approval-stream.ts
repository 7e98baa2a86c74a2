/**
 * Held actions as server-sent events, so that other surfaces can be built on them: first the present list, then every
 * change. Whoever was cut off connects again and gets the list anew, so nothing has to be remembered for anybody. At each
 * beat the key is looked at again: one that was revoked ends the stream.
 */
import { Fault } from '../core/index.ts'
import type { HeldAction, QueueChange } from '../policy/index.ts'
import type { Clock } from '../world/index.ts'
import type { ApprovalDesk } from './approval-routes.ts'
import type { Answer, AnswerStream } from './mount.ts'

export const STREAMS_MAX = 32
const HEARTBEAT_MS = 15_000

const HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }

/** Each call opens one more stream, or throws `OVERLOADED`. */
export function approvalStream(
  desk: Pick<ApprovalDesk, 'list' | 'subscribe'>,
  clock: Pick<Clock, 'timer'>,
): (isCurrent: () => Promise<boolean>) => Answer {
  let open = 0
  return (isCurrent) => {
    if (open >= STREAMS_MAX) {
      throw new Fault('OVERLOADED', {
        message: `Cannot open another stream of the approvals: ${STREAMS_MAX} are open`,
        hint: 'Close one that is not needed, or ask for the list',
      })
    }
    const stream = async (out: AnswerStream): Promise<void> => {
      open += 1
      try {
        await told(desk, clock, out, isCurrent)
      } finally {
        open -= 1
      }
    }
    return { status: 200, headers: HEADERS, stream }
  }
}

/** Resolves when the stream ended. */
async function told(
  desk: Pick<ApprovalDesk, 'list' | 'subscribe'>,
  clock: Pick<Clock, 'timer'>,
  out: AnswerStream,
  isCurrent: () => Promise<boolean>,
): Promise<void> {
  let count = 0
  const send = (event: string, data: object): void => {
    count += 1
    out.write(`id: ${count}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  let stopTimer = (): void => undefined
  let end = (): void => undefined
  const over = new Promise<void>((resolve) => {
    end = resolve
  })
  const beat = async (): Promise<void> => {
    if (!(await isCurrent())) return end()
    if (out.write(': still here\n\n')) arm()
  }
  const arm = (): void => {
    stopTimer = clock.timer(HEARTBEAT_MS, () => void beat(), false)
  }
  send('list', desk.list().map(brief))
  const stopListening = desk.subscribe(({ kind, action }: QueueChange) => send(kind, brief(action)))
  arm()
  out.ended.addEventListener('abort', end, { once: true })
  if (out.ended.aborted) end()
  try {
    await over
  } finally {
    stopTimer()
    stopListening()
  }
}

/** What was asked is read with a request of its own. */
function brief(action: HeldAction): HeldAction {
  return { ...action, context_snapshot: null }
}
