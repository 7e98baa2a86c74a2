/**
 * `--approval-terminal`: a person at the controlling terminal is shown the whole review of a held call, and answers with
 * `approve` and its id, or anything else, which denies (8.7). Never standard input: that may be what the agent was given.
 */
import { Fault, isFault, messageOf } from '../../core/index.ts'
import { type Asked, type HeldAction, type Notifier, terminalReview } from '../../policy/index.ts'
import type { ControllingTerminal, World } from '../../world/index.ts'

const ANSWER_BYTES_MAX = 128

/** Throws `USAGE` when this process has no terminal. */
export async function openApprovalTerminal(world: World): Promise<ControllingTerminal> {
  const terminal = await world.processes.terminal()
  if (terminal !== null) return terminal
  throw new Fault('USAGE', {
    message: 'Cannot ask for approvals on the terminal: this process has none',
    hint: 'Start it in a terminal, or leave --approval-terminal out; a server also takes decisions from "symbi approvals"',
  })
}

export interface TerminalApprover {
  readonly terminal: ControllingTerminal
  /** Who sits there, as the record of a decision names it. */
  readonly uid: number
  /** True where nobody else can decide: then what cannot be shown here is denied. */
  readonly alone: boolean
  /** Called before something is shown; what it returns, after the answer. Default: nothing. */
  readonly hush?: () => () => void
}

export function terminalNotifier(parts: TerminalApprover): Notifier {
  let last: Promise<unknown> = Promise.resolve()
  return {
    name: 'terminal',
    notify: async (asked, signal) => {
      // One question at a time: whoever is not shown yet waits, and its deadline does not.
      const mine = last.then(async () => {
        if (!signal.aborted) await ask(parts, asked, signal)
      })
      last = mine.catch(() => undefined)
      await mine
    },
  }
}

async function ask(parts: TerminalApprover, asked: Asked, signal: AbortSignal): Promise<void> {
  const { terminal, hush } = parts
  const { action } = asked
  const resume = hush?.()
  try {
    const review = terminalReview(action)
    if (review === null) {
      await terminal.write(`\n${tooLong(action, parts.alone)}\n`)
      if (parts.alone) await decide(parts, asked, 'deny')
      return
    }
    const { id, expires_at } = action
    const ending = `It expires at ${expires_at}. Type "approve ${id}" to approve it; anything else denies it:\n`
    await terminal.write(`\n${review}${ending}`)
    const answer = await terminal.readLine(ANSWER_BYTES_MAX, signal)
    await decide(parts, asked, answer === `approve ${id}` ? 'approve' : 'deny')
  } catch (error) {
    if (!signal.aborted) throw error
    await terminal.write('The wait is over: it expired, or it was decided or given up elsewhere\n')
  } finally {
    resume?.()
  }
}

async function decide({ terminal, uid }: TerminalApprover, asked: Asked, decision: 'approve' | 'deny'): Promise<void> {
  const name = `uid:${uid}`
  try {
    await asked.resolve({ decision }, { surface: 'terminal', id: name, display: name })
    await terminal.write(decision === 'approve' ? 'Approved\n' : 'Denied\n')
  } catch (error) {
    if (!isFault(error)) throw error
    await terminal.write(`Nothing was decided: ${messageOf(error).replace(/[^\x20-\x7e]/g, '?')}\n`)
  }
}

function tooLong({ id }: HeldAction, alone: boolean): string {
  const state = `The review of ${id} is too long for a terminal, so it cannot be approved here`
  return alone ? `${state} and is denied` : `${state}: see "symbi approvals show ${id}"`
}
