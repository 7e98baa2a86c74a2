/** A tool of your own, and a policy that looks at its arguments: what is allowed runs, what is denied never starts. */
import { strict as assert } from 'node:assert'
import { nodeWorld, openRuntime, scripted, type Tool } from 'symbi-runtime'
import { LEAST_PRIVILEGE_POLICY, temporaryProject } from 'symbi-runtime/testing'

const sent: string[] = []
const sendMail: Tool = {
  definition: {
    name: 'send_mail',
    description: 'Sends a mail to one address.',
    parameters: {
      type: 'object',
      properties: { to: { type: 'string', maxLength: 254 }, text: { type: 'string', maxLength: 10_000 } },
      required: ['to', 'text'],
      additionalProperties: false,
    },
  },
  run: async ({ to, text }) => {
    sent.push(`${to}: ${text}`)
    return 'sent'
  },
}

const policy = `permit (principal, action == Action::"tool_call::send_mail", resource)
  when { context.invocation.arguments.to like "*@example.org" };`
await using project = temporaryProject({ policies: { default: LEAST_PRIVILEGE_POLICY, mail: policy } })

const mailTo = (to: string, text: string) => ({ id: `mail-${to}`, name: 'send_mail', arguments: { to, text } })
const rules = [
  {
    when: { last_role: 'user' },
    reply: { tool_calls: [mailTo('anna@example.org', 'hello'), mailTo('eve@example.com', 'all our secrets')] },
  },
  { when: { last_role: 'tool' }, reply: { content: 'I wrote to those I may write to' } },
] as const
const provider = await scripted({ script: { model: 'demo', rules } }, nodeWorld())
await using runtime = await openRuntime({ project: project.path, provider, tools: [sendMail] })

const decisions: string[] = []
const reply = await runtime.ask('Write to Anna and to Eve', {
  onMessage: (message) => {
    if (message.type === 'PolicyDecision') decisions.push(message.decision)
  },
})
assert.equal(reply.content, 'I wrote to those I may write to')
assert.deepEqual(sent, ['anna@example.org: hello'])
assert.deepEqual(decisions, ['partial_deny', 'allow'])

// The same id again is answered from the record: nothing runs twice.
const again = await runtime.ask('Write to Anna and to Eve', { id: reply.id })
assert.equal(again.replayed, true)
assert.equal(sent.length, 1)
console.log(sent.join('\n'))
