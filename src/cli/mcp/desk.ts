/**
 * Where the held calls of a client on standard input and output wait: for a person at the controlling terminal, if that was
 * asked for. The queue is this process's own; a server on the same project neither sees it nor decides for it.
 */
import { messageOf } from '../../core/index.ts'
import { ApprovalQueue } from '../../policy/index.ts'
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
  const queue = await ApprovalQueue.open(world, project.approvalFolder, {
    notifiers: [terminalNotifier({ terminal, uid: world.files.uid, alone: true })],
    report: (what, error) => log.write('warn', what, { problem: messageOf(error) }),
  })
  return {
    queue,
    [Symbol.asyncDispose]: async () => {
      await queue[Symbol.asyncDispose]()
      await terminal[Symbol.asyncDispose]()
    },
  }
}
