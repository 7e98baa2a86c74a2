/**
 * Tools with types: one of your own, described once with zod, and a ready-made one that reads files below a named root. Policy
 * judges arguments in their one form: spaces and small letters do not lead past a rule.
 */
import { strict as assert } from 'node:assert'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineTool, nodeWorld, openRuntime, scripted } from 'symbi-runtime'
import { LEAST_PRIVILEGE_POLICY, temporaryProject } from 'symbi-runtime/testing'
import { z } from 'zod'

const paid: string[] = []
const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back.',
  input: z.object({ order: z.string().trim().toUpperCase(), cents: z.int().positive().default(100) }),
  risk: 'high',
  run: async ({ order, cents }) => {
    paid.push(`${order} ${(cents / 100).toFixed(2)}`) // a number: the type says so, and the check kept it
    return 'paid'
  },
})

const refunds = `permit (principal, action == Action::"tool_call::refund", resource)
  when { context.invocation.arguments.cents <= 5000 };
forbid (principal, action == Action::"tool_call::refund", resource)
  when { context.invocation.arguments.order == "A-666" };`
const reads = 'permit (principal, action == Action::"tool_call::read_file", resource == FileRoot::"terms");'
await using project = temporaryProject({ policies: { default: LEAST_PRIVILEGE_POLICY, refunds, reads } })
mkdirSync(join(project.path, 'terms'))
writeFileSync(join(project.path, 'terms', 'refunds.md'), 'Up to 50.00 without asking.\n')

const call = (id: string, name: string, args: object) => ({ id, name, arguments: args }) as never
const rules = [
  { when: { last_role: 'user' }, reply: { tool_calls: [call('read', 'read_file', { path: 'terms/refunds.md' })] } },
  {
    when: { last_role: 'tool', contains: 'without asking' },
    reply: {
      tool_calls: [
        call('small', 'refund', { order: ' a-17 ', cents: 1250 }),
        call('large', 'refund', { order: 'a-18', cents: 9900 }),
        call('trick', 'refund', { order: ' a-666' }),
        call('wrong', 'refund', { order: 'a-19', cents: 'all' }),
      ],
    },
  },
  { when: { last_role: 'tool' }, reply: { content: 'I paid back what I may' } },
] as const
const provider = await scripted({ script: { model: 'demo', rules } }, nodeWorld())
await using runtime = await openRuntime({
  project: project.path,
  provider,
  tools: [refund],
  readyMade: { fileRoots: [{ name: 'terms', path: join(project.path, 'terms') }] },
})

const reply = await runtime.ask('Pay the orders back')
assert.equal(reply.content, 'I paid back what I may')
assert.deepEqual(paid, ['A-17 12.50'])
console.log(paid.join('\n'))
