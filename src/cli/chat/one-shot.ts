/** One message from the command line: its id is told before it leaves, and the exit code says what became of it. */
import type { Cli } from '../cli.ts'
import { type Conversation, exitOf, type Message, type Outcome } from './conversation.ts'
import type { Teller } from './teller.ts'

/** After Ctrl-C: how long we ask what the id means now. */
const AFTERMATH_MS_MAX = 5_000

export async function oneShot(cli: Cli, conversation: Conversation, teller: Teller, message: Message): Promise<number> {
  const cancel = new AbortController()
  const giveUp = new AbortController()
  const stopListening = cli.console.onInterrupt(() => {
    if (cancel.signal.aborted) giveUp.abort()
    cancel.abort()
  })
  try {
    teller.begin(message.id)
    const outcome = await conversation.ask(message, cancel.signal)
    teller.end(outcome)
    if (outcome.kind !== 'Cancelled' || !outcome.sent) return exitOf(outcome)
    const after = await aftermath(cli, conversation, message, giveUp)
    if (after !== null) teller.afterwards(after)
    return exitOf(outcome)
  } catch (error) {
    teller.abandon()
    throw error
  } finally {
    stopListening()
  }
}

/** What a cancelled id means now, or null when nobody could say so in a few seconds, or the person did not wait. */
export async function aftermath(
  { world }: Cli,
  conversation: Conversation,
  message: Message,
  giveUp = new AbortController(),
): Promise<Outcome | null> {
  const stopTimer = world.clock.timer(AFTERMATH_MS_MAX, () => giveUp.abort())
  try {
    const outcome = await conversation.ask({ ...message, mode: 'settle' }, giveUp.signal)
    return outcome.kind === 'Cancelled' || outcome.kind === 'Unknown' ? null : outcome
  } catch {
    return null // the server is gone as well: what was said before stands
  } finally {
    stopTimer()
  }
}
