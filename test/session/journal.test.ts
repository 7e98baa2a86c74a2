/** Sessions over real, signed journals: what a stranger can prove afterwards, with the public key alone. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { EffectHandle } from '../../src/calls/index.ts'
import { newId } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG } from '../../src/events/index.ts'
import {
  createJournal,
  type Journal,
  parsePublicKey,
  type RecoveryReport,
  recoveryReport,
  verifyRunPrefix,
  viewStatus,
} from '../../src/journal/index.ts'
import { deny } from '../../src/policy/index.ts'
import { GovernedToolSession, type SessionSetup } from '../../src/session/index.ts'
import { type Tool, toolbox } from '../../src/tools/index.ts'
import type { World } from '../../src/world/index.ts'
import { gateOf } from '../support/gates.ts'
import { scratch } from '../support/scratch.ts'
import { actionOf, callOf, latch, never } from '../support/tool-session.ts'
import { toolOf } from '../support/tools.ts'
import { watchedWorld } from '../support/watched-world.ts'

const disk = scratch()

interface Place extends AsyncDisposable {
  readonly world: World
  readonly journal: Journal
  readonly setup: SessionSetup
  readonly syncs: () => number
  report(): Promise<RecoveryReport>
}

const gate = gateOf(({ arguments: args }) => (args?.forbidden === true ? deny('no') : { kind: 'Allow', policies: [] }))

async function placeOf(tool: Tool): Promise<Place> {
  let syncs = 0
  const world = watchedWorld((operation) => {
    if (operation === 'syncData') syncs += 1
  })
  const principal = newId('agent', world.random)
  const journal = await createJournal(world, { directory: disk.folder(), principal })
  const box = toolbox({ tools: [tool] }, world)
  return {
    world,
    journal,
    setup: { world, principal, gate, toolbox: box, log: journal, config: DEFAULT_LOOP_CONFIG },
    syncs: () => syncs,
    report: async () => {
      const { path, run_id, public_key } = journal.audit
      return recoveryReport(await verifyRunPrefix(world, path, parsePublicKey(public_key), run_id))
    },
    [Symbol.asyncDispose]: () => journal.close(),
  }
}

describe('the journal of a session', () => {
  test('verifies as a whole run that needs nobody, after calls, denials and refusals', async () => {
    await using place = await placeOf(toolOf('look'))
    const session = await GovernedToolSession.start(place.setup)
    expect(session.audit).toBe(place.journal.audit)
    await session.call(callOf('a'), never)
    await session.call(callOf('b', 'look', { forbidden: true }), never)
    await expect(session.call(callOf('b'), never)).rejects.toMatchObject({ code: 'CALL_ID_USED' })
    await session.call(callOf('c', 'unknown'), never)
    await session.call(callOf('d'), never)
    await session.close()
    const report = await place.report()
    expect(viewStatus(report)).toBe('completed')
    expect(report).toMatchObject({
      requires_reconciliation: false,
      untracked_tool_approvals: 0,
      journal_complete: true,
    })
    expect(report.effects.map(({ outcome }) => outcome)).toEqual(['result_recorded', 'result_recorded'])
  })

  test('costs two syncs a call, and one for a denial and its results each [G19]', async () => {
    await using place = await placeOf(toolOf('look'))
    const session = await GovernedToolSession.start(place.setup)
    const before = place.syncs()
    for (let nth = 0; nth < 10; nth += 1) await session.call(callOf(`c${nth}`), never)
    expect(place.syncs() - before).toBe(20)
    await session.close()
    expect(place.syncs() - before).toBe(21)
  })

  test('shows a call that was interrupted as an unknown effect, and its late tool changes no byte [G20]', async () => {
    const [entered, answer] = [latch(), latch<string>()]
    let handle: EffectHandle | null = null
    await using place = await placeOf(
      toolOf('look', async (_args, { effects }) => {
        handle = effects
        entered.open()
        return await answer.promise
      }),
    )
    const box = { ...place.setup.toolbox, cleanUp: async () => undefined }
    const session = await GovernedToolSession.start({ ...place.setup, toolbox: box })
    const call = session.call(callOf('a'), never)
    const unconfirmed = expect(call).rejects.toMatchObject({ code: 'CALL_UNCONFIRMED' })
    await entered.promise
    session.cancel()
    await unconfirmed
    await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    const bytes = readFileSync(place.journal.audit.path)
    const started = { request_id: 'r', method: 'GET', url: 'https://a/', request_hash: 'h', request_bytes: 0 }
    const record = (handle as EffectHandle | null)?.record({ NetworkRequestStarted: started })
    await expect(record).rejects.toMatchObject({ code: 'GRANT_REFUSED' })
    answer.open('late')
    for (let turn = 0; turn < 5; turn += 1) await place.world.clock.yield()
    expect(readFileSync(place.journal.audit.path)).toEqual(bytes)
    const report = await place.report()
    expect(viewStatus(report)).toBe('unknown_effects')
    expect(report.terminal_reason).toMatchObject({ Error: {} })
    expect(report.effects.map(({ outcome }) => outcome)).toEqual(['unknown'])
  })

  test('shows a failed tool as an unknown effect, and nothing was started behind it [G23]', async () => {
    const tool = toolOf('look', async () => {
      throw new Error('broken')
    })
    await using place = await placeOf(tool)
    const session = await GovernedToolSession.start(place.setup)
    const [first, second] = [session.call(callOf('a'), never), session.call(callOf('b'), never)]
    const refused = expect(second).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    expect(await first).toMatchObject({ metadata: { effect_outcome: 'unknown' } })
    await refused
    await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    const report = await place.report()
    expect(viewStatus(report)).toBe('unknown_effects')
    expect(report.effects).toHaveLength(1)
    expect(tool.ran).toHaveLength(1)
  })

  test('that another process lengthened takes no further call, and the session ends in an error [G21]', async () => {
    const tool = toolOf('look')
    await using place = await placeOf(tool)
    const session = await GovernedToolSession.start(place.setup)
    const file = await place.world.files.open(place.journal.audit.path, 'append')
    await file?.append(Buffer.from('x'))
    await file?.close()
    await expect(session.call(callOf('a'), never)).rejects.toMatchObject({ code: 'JOURNAL_CHANGED' })
    expect(tool.ran).toHaveLength(0)
    await expect(session.close()).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
  })

  test('holds the action of the host beside the calls of the client, and verifies', async () => {
    const [entered, answer] = [latch(), latch<string>()]
    await using place = await placeOf(toolOf('look'))
    const session = await GovernedToolSession.start(place.setup)
    const host = toolOf('host_fixture', async () => {
      entered.open()
      return await answer.promise
    })
    const hosted = session.dispatchHostAction(toolbox({ tools: [host] }, place.world), actionOf('h'), never)
    await entered.promise
    await session.call(callOf('a'), never)
    answer.open('done')
    await hosted
    await session.call(callOf('b'), never)
    await session.close()
    const report = await place.report()
    expect(viewStatus(report)).toBe('completed')
    expect(report.effects).toHaveLength(3)
  })
})
