/** What `audit show` says of the calls of a tool client: who approved, what was only held, and a call that is a run of its own. */
import { expect, onTestFinished, test } from 'vitest'
import { digest, newId } from '../../src/core/index.ts'
import { ApprovalQueue, openProject, openToolSession, type ToolSession } from '../../src/runtime/index.ts'
import { temporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { inProcess } from '../support/cli.ts'
import { toolOf } from '../support/tools.ts'

const world = nodeWorld()
const never = new AbortController().signal
const pay = (call_id: string) => ({ call_id, name: 'pay', arguments: { amount: 5 } })

/** The timeline of a session of one client, in which `pay` needs an approval where that is asked for. */
async function shown(
  approvalTools: readonly string[],
  use: (session: ToolSession, queue: ApprovalQueue) => Promise<void>,
): Promise<string> {
  const policies = { default: 'permit(principal, action, resource);' }
  const project = temporaryProject({ policies, agents: { clerk: 'agent clerk() {}' } })
  onTestFinished(() => project[Symbol.dispose]())
  const { approvalFolder } = await openProject(world, project.path)
  await using queue = await ApprovalQueue.open(world, approvalFolder)
  const tools = [toolOf('pay', async () => 'paid')]
  const session = await openToolSession({ project: project.path, agent: 'clerk', tools, approvalTools, queue }, never)
  await use(session, queue)
  await session.close()
  const args = ['audit', 'show', session.audit.run_id, '--no-follow', '--project', project.path]
  const done = await inProcess(args, { env: { COLUMNS: '160' } })
  expect([done.code, done.stderr]).toEqual([0, ''])
  return done.stdout
}

test('a held call is no denial, and an approved one says who approved it, on which surface, and when', async () => {
  let id = ''
  const text = await shown(['pay'], async (session, queue) => {
    await session.call(pay('c1'), never)
    id = queue.list()[0]?.id ?? ''
    await queue.resolve(id, { decision: 'approve' }, { surface: 'tui', id: 'ada', display: 'Ada' })
    await session.call(pay('c2'), never, { presented: id })
  })
  expect(text).toMatch(/ {4}held {6}pay /)
  expect(text).not.toContain('DENIED')
  expect(text).toMatch(new RegExp(`approval ${id}, given by Ada \\(tui\\) at 20\\d\\d-`))
  expect(text).toContain('1 tool call · 1 held · 0 denials · 0 unknown')
})

test('a call under an id of its caller is a call, and names the run that it is', async () => {
  let run = ''
  const text = await shown([], async (session) => {
    const outcome = await session.callOnce(
      pay('c1'),
      { id: newId('invocation', world.random), caller: digest('us') },
      never,
    )
    run = outcome.kind === 'Recorded' ? outcome.audit.run_id : ''
  })
  expect(text).toContain(`    intent    pay, under an id of its caller: run ${run}`)
  expect(text).not.toContain('delegate')
  expect(text).toContain('1 tool call · 0 denials')
})
