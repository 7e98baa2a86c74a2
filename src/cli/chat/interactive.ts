/**
 * A sitting at the terminal: a prompt, one message at a time, each under an id of its own. Ctrl-C cancels the turn that
 * runs, by ending the connection and opening another; Ctrl-D leaves.
 */
import { isFault, newId } from '../../core/index.ts'
import type { Cli } from '../cli.ts'
import { notePaint } from '../terminal.ts'
import type { Conversation } from './conversation.ts'
import { exitOf, type Message } from './conversation.ts'
import { aftermath } from './one-shot.ts'
import type { Teller } from './teller.ts'

const PROMPT = '> '

/** The exit code: 0 at a terminal, else that of the last message that did not end well. */
export async function interactive(cli: Cli, conversation: Conversation, teller: Teller): Promise<number> {
  const { console } = cli
  const lines = console.lines()[Symbol.asyncIterator]()
  let turn: AbortController | null = null
  let leave = (): void => undefined
  let warned = false
  const left = new Promise<{ readonly done: true; readonly value: undefined }>((resolve) => {
    leave = () => resolve({ done: true, value: undefined })
  })
  const stopListening = console.onInterrupt(() => {
    if (turn !== null) turn.abort()
    else if (warned) leave()
    else {
      warned = true
      console.note('Ctrl-D leaves')
      console.progress(PROMPT)
    }
  })
  let code = 0
  try {
    if (console.typed) console.note(notePaint(cli)('dim', 'One message a line. Ctrl-C cancels a turn, Ctrl-D leaves'))
    for (;;) {
      if (console.typed) console.progress(PROMPT)
      const line = await Promise.race([lines.next(), left])
      if (line.done === true) break
      warned = false
      const content = line.value.trim()
      if (content === '') continue
      turn = new AbortController()
      const message: Message = { id: newId('invocation', cli.world.random), content, mode: 'send' }
      const exit = await oneTurn(cli, conversation, teller, message, turn.signal)
      turn = null
      if (exit !== 0) code = exit
    }
  } finally {
    stopListening()
    process.stdin.destroy() // a read that still waits for a line would keep the process alive
  }
  if (console.typed) console.note('')
  return console.typed ? 0 : code
}

/** A message that fails, fails alone: the sitting goes on. */
async function oneTurn(
  cli: Cli,
  conversation: Conversation,
  teller: Teller,
  message: Message,
  signal: AbortSignal,
): Promise<number> {
  teller.begin(message.id)
  try {
    const outcome = await conversation.ask(message, signal)
    teller.end(outcome)
    if (outcome.kind !== 'Cancelled' || !outcome.sent) return exitOf(outcome)
    cli.console.note('the next message begins a new conversation')
    const after = await aftermath(cli, conversation, message)
    if (after !== null) teller.afterwards(after)
    return exitOf(outcome)
  } catch (error) {
    teller.abandon()
    if (!isFault(error, 'CONNECTION_LOST', 'SHUTTING_DOWN', 'OVERLOADED', 'RATE_LIMITED')) throw error
    cli.console.note(`${error.code}: ${error.message}; nothing was sent`)
    return 1
  }
}
