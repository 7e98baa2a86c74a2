/** A file of the policy folder, Cedar text or a list of entries: used as a whole or not at all. */
import { isFault } from '../../../src/core/index.ts'
import { loadPolicies, readPolicyFile } from '../../../src/policy/index.ts'
import { fileWorld } from '../file-world.ts'
import { answerOf, must, presentable, pure, type Target } from '../target.ts'

const PERMIT = 'permit(principal, action, resource);'
const list = (...entries: readonly object[]): string => JSON.stringify(entries)

export const policyFiles: Target = {
  name: 'policy-files',
  property:
    'a file gives entries with names, a text and a switch, or is refused as a whole; what is refused allows nothing',
  seeds: [
    PERMIT,
    list({ name: 'a', source: PERMIT, active: true }, { name: 'b', source: 'no', active: false }),
    list({ name: 'a', source: 'no', active: true }),
    '[]',
    '  [',
    Buffer.from([0xff, 0x70]),
  ],
  words: [
    '"name":',
    '"source":',
    '"active":true',
    '"active":false',
    '[',
    PERMIT,
    'forbid(principal, action, resource);',
    '\ufeff',
    '@id("a")',
  ],
  bytesMax: 3072,
  steps: { fixed: 30_000, perByte: 500 },
  open: () => pure(check),
}

async function check(input: Uint8Array): Promise<void> {
  const world = fileWorld(input, 'default.cedar')
  const read = await answerOf(() => readPolicyFile(world, '/project/policies/default.cedar', 'default.cedar'))
  if (read.kind === 'Fault')
    must(isFault(read.fault, 'POLICY_UNREADABLE', 'POLICY_INVALID'), 'a refusal is one of two codes')
  else {
    must(read.value.length >= 1, 'a file gives an entry')
    for (const { name, source, active } of read.value)
      must(
        name !== '' && typeof source === 'string' && typeof active === 'boolean',
        'an entry has a name, a text and a switch',
      )
  }
  const folder = { ...world, files: { ...world.files, list: async () => ['default.cedar'] } }
  const loaded = await answerOf(() => loadPolicies(folder, { folder: '/project/policies', surface: 'run' }))
  must(loaded.kind === 'Value', 'a folder gives a gate whatever stands in it')
  const { gate, problem } = loaded.value
  if (problem !== null) presentable(problem)
  must(read.kind === 'Value' || problem !== null, 'what cannot be read is a problem')
  must(gate.name === (problem === null ? 'cedar' : 'deny-everything'), 'a problem denies everything')
}
