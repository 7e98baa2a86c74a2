/**
 * Where the held calls of a client on standard input and output wait: for a person at the controlling terminal, if that was
 * asked for. The queue is this process's own; a server on the same project neither sees it nor decides for it.
 */
import { Fault } from '../../core/index.ts'
import { ApprovalQueue, type HeldAction, type Notifier } from '../../policy/index.ts'
import type { Project } from '../../runtime/index.ts'
import type { Log } from '../../server/index.ts'
import type { World } from '../../world/index.ts'
import { openApprovalTerminal, terminalNotifier } from '../approvals/approval-terminal.ts'

export interface Desk extends AsyncDisposable {
  /** Null where nobody can be asked: then a call that needs an approval is refused. */
  readonly queue: ApprovalQueue | null
}

export async function openDesk(world: World, project: Project, asksTerminal: boolean, log: Log): Promise<Desk> {
  if (!asksTerminal) return { queue: null, [Symbol.asyncDispose]: async () => undefined }
  const terminal = await openApprovalTerminal(world)
  const queue = await ApprovalQueue.open(world, project.approvalFolder)
  const person = terminalNotifier({ terminal, uid: world.files.uid, alone: true })
  const stop = askAbout(queue, person, log)
  return {
    queue,
    [Symbol.asyncDispose]: async () => {
      stop()
      await queue[Symbol.asyncDispose]()
      await terminal[Symbol.asyncDispose]()
    },
  }
}

/** Shows each action from when it is held to when it is decided, or over. */
function askAbout(queue: ApprovalQueue, person: Notifier, log: Log): () => void {
  const waits = new Map<string, AbortController>()
  const ask = async (action: HeldAction): Promise<void> => {
    const over = new AbortController()
    waits.set(action.id, over)
    const asked = { action, resolve: queue.resolve.bind(queue, action.id) }
    try {
      await person.notify(asked, over.signal)
    } catch (error) {
      if (!over.signal.aborted) log.write('warn', 'the terminal could not be asked', { error })
    }
  }
  const forget = (id: string): void => {
    waits.get(id)?.abort(new Fault('RUN_CANCELLED', { message: 'The wait for an approval is over' }))
    waits.delete(id)
  }
  const unsubscribe = queue.subscribe(({ kind, action }) => {
    if (kind === 'held') void ask(action)
    else forget(action.id)
  })
  return () => {
    unsubscribe()
    for (const id of [...waits.keys()]) forget(id)
  }
}
