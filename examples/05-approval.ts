/**
 * A call that takes effect only after a person approved exactly that call, and once. Here a program asks and another part of
 * it decides; 05-approval.md does the same with two terminals.
 */
import { strict as assert } from 'node:assert'
import { defineTool, nodeWorld, openRuntime, reviewText, scripted } from 'symbi-runtime'
import { temporaryProject } from 'symbi-runtime/testing'
import { z } from 'zod'

const paid: string[] = []
const pay = defineTool({
  name: 'pay',
  description: 'Pays an order back.',
  input: z.object({ order: z.string(), cents: z.int().positive() }),
  approval: true, // no policy can waive that
  run: async ({ order, cents }) => {
    paid.push(`${order} ${cents}`)
    return 'paid'
  },
})

const policy = `permit (principal, action == Action::"tool_call::pay", resource)
  when { context.has_human_approval && context.invocation.arguments.cents <= 5000 };`
const clerk = 'agent clerk() { policy only { allow: "pay" } }'
await using project = temporaryProject({ policies: { default: policy }, agents: { clerk } })
const provider = await scripted({ script: { model: 'none', rules: [] } }, nodeWorld()) // nobody chats here
await using runtime = await openRuntime({ project: project.path, provider, tools: [pay] })

const target = runtime.agents.resolve('clerk')
assert(target.kind === 'Target')
const { signal } = new AbortController()
await using session = await runtime.openToolSession(target.target, { client: { surface: 'example' } }, signal)
const call = (call_id: string, cents: number, presented: string | null = null) =>
  session.call({ call_id, name: 'pay', arguments: { order: 'A-17', cents } }, signal, { presented })

// The client is not kept waiting: it gets a handle, and nothing happened yet.
const held = await call('c1', 1250)
const handle = String(held.metadata?.approval_id)
assert.equal((await call('c2', 1250, handle)).metadata?.error_type, 'approval_pending')
assert.deepEqual(paid, [])

// A person sees everything that would happen, and decides once.
const [action] = runtime.approvals.list()
assert(action?.id === handle)
console.log(reviewText(action))
await runtime.approvals.resolve(handle, { decision: 'approve' }, { surface: 'tui', id: 'anna', display: 'Anna' })

// Another call gains nothing from it; the same call takes effect, once.
assert((await call('c3', 4000, handle)).is_error)
assert.equal((await call('c4', 1250, handle)).content, 'paid')
assert((await call('c5', 1250, handle)).is_error)
assert.deepEqual(paid, ['A-17 1250'])
console.log(paid.join('\n'))
