import { describe, expect, test } from 'vitest'
import { CedarEngine } from '../../../src/policy/cedar/cedar-engine.ts'
import { openCandidate } from '../../../src/policy/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { AGENT, bareQuestion, DELEGATE, PolicyFolder, RESPOND, rawQuestion, toolQuestion } from '../support.ts'

const world = nodeWorld()
const judged = ({ call }: ReturnType<typeof toolQuestion>) => ({
  call,
  agent_id: AGENT,
  trusted_context: {},
  approvedFingerprint: null,
})
const open = (folder: string, surface: string | null = null) => openCandidate(world, { folder, surface })

describe('policies as a candidate', () => {
  test('decide as they would in force, with those of the surface, and say where each of them stands', async () => {
    await using folder = await PolicyFolder.make({
      'a.cedar': '// tools\npermit(principal, action == Action::"tool_call::read", resource);',
      'run/b.cedar': 'permit(principal, action == Action::"tool_call::write", resource);',
    })
    using shared = await open(folder.path)
    using own = await open(folder.path, 'run')
    expect(shared.decide(judged(toolQuestion('read')))).toEqual({ kind: 'Allow', policies: ['a'] })
    expect(shared.decide(judged(toolQuestion('write'))).kind).toBe('Deny')
    expect(own.decide(judged(toolQuestion('write')))).toEqual({ kind: 'Allow', policies: ['run/b'] })
    expect(own.placeOf('a')).toEqual({ name: 'a', file: 'a.cedar', line: 2 })
    expect(own.placeOf('nobody')).toBeNull()
  })

  test('deny what cannot be shown to policy, whatever they permit', async () => {
    await using folder = await PolicyFolder.make({ 'all.cedar': 'permit(principal, action, resource);' })
    using candidate = await open(folder.path)
    expect(candidate.decide(judged(rawQuestion('read', { path: { __entity: {} } })))).toMatchObject({
      kind: 'Deny',
      reason: expect.stringContaining('cannot be shown to policy'),
    })
  })

  test('of an empty folder are the fail-closed default: replies and nothing else', async () => {
    await using folder = await PolicyFolder.make({ 'notes.txt': '' })
    using candidate = await open(folder.path)
    const kindOf = (question: ReturnType<typeof toolQuestion>) => candidate.decide(judged(question)).kind
    expect([toolQuestion('read'), bareQuestion(DELEGATE), bareQuestion(RESPOND)].map(kindOf)).toEqual([
      'Deny',
      'Deny',
      'Allow',
    ])
    expect(candidate.placeOf('default')).toBeNull()
  })

  test.each<[string, (folder: PolicyFolder) => string, string]>([
    ['does not exist', (folder) => folder.at('missing'), 'POLICY_UNREADABLE'],
    ['is a file', (folder) => folder.at('good.cedar'), 'POLICY_UNREADABLE'],
    ['holds a file that is no policy', (folder) => folder.at('bad'), 'POLICY_INVALID'],
    ['holds a list of nothing', (folder) => folder.at('empty'), 'POLICY_INVALID'],
  ])('of a folder that %s are an error, and no denial of everything', async (_, at, code) => {
    await using folder = await PolicyFolder.make({
      'good.cedar': 'permit(principal, action, resource);',
      'bad/bad.cedar': 'nonsense',
      'empty/list.cedar': '[]',
    })
    await expect(open(at(folder))).rejects.toMatchObject({ code })
  })

  test('that are closed give their places in the engine back', async () => {
    await using folder = await PolicyFolder.make({ 'all.cedar': 'permit(principal, action, resource);' })
    const engine = new CedarEngine()
    for (let round = 0; round < 3; round += 1) {
      const candidate = await openCandidate(world, { folder: folder.path, surface: null, engine })
      candidate[Symbol.dispose]()
      candidate[Symbol.dispose]() // a second time changes nothing
      expect(candidate.decide(judged(toolQuestion('read')))).toMatchObject({ kind: 'Deny' })
    }
    expect(engine.slotCount).toBe(1)
  })
})
