/** Thousands of hostile frames, in pieces as they come, through the broker to a session in this process. */
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CONNECTION_LIMITS, Connection, serveStream, ToolBroker } from '../../src/broker/index.ts'
import { defaultContract } from '../../src/calls/index.ts'
import { deny } from '../../src/policy/gate.ts'
import { recordedTool } from '../../src/testing/index.ts'
import { callsIn } from '../support/call-accounts.ts'
import { gateOf } from '../support/gates.ts'
import { chanceOf } from '../support/hostile/chance.ts'
import { HostileClient, PLAIN } from '../support/hostile/client.ts'
import { Ledger } from '../support/hostile/ledger.ts'
import type { Bait, HostileFrame } from '../support/hostile/parts.ts'
import { checkAnswers } from '../support/hostile/stdio-door.ts'
import { RawClient } from '../support/mcp-client.ts'
import { sessionBench } from '../support/tool-session.ts'

const urlOf = (mark: string): string => `http://counter/effect/${mark}`
const bait: Bait = {
  permitted: (mark) => ({ name: 'take_effect', arguments: { url: urlOf(mark) } }),
  denied: (mark) => ({ name: 'never_effect', arguments: { url: urlOf(mark) } }),
  held: (mark) => ({ name: 'careful_effect', arguments: { url: urlOf(mark) } }),
}
const PARAMETERS = {
  type: 'object',
  properties: { url: { type: 'string', pattern: '^http://counter/effect/', maxLength: 200 } },
  required: ['url'],
  additionalProperties: false,
} as const
const GREETING = {
  jsonrpc: '2.0',
  id: 'hello',
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
}

async function accountFor(frames: readonly HostileFrame[], cuts: readonly number[]): Promise<void> {
  const effects: string[] = []
  const tool = (name: string) =>
    recordedTool(name, {
      parameters: PARAMETERS,
      answer: async ({ url }) => {
        effects.push(`GET ${new URL(String(url)).pathname}${new URL(String(url)).search}`)
        return JSON.stringify({ url })
      },
    })
  const careful = tool('careful_effect')
  const { log, start, world } = sessionBench({
    gate: gateOf(({ contract }) =>
      contract?.name === 'never_effect' ? deny('not this one') : { kind: 'Allow', policies: [] },
    ),
    tools: [
      tool('take_effect'),
      tool('never_effect'),
      { ...careful, contract: { ...defaultContract(careful.definition), requires_approval: true } },
    ],
    limits: { max_iterations: 1000 },
  })
  const session = await start()
  const connection = new Connection('00000000-0000-4000-8000-000000000001', {
    ...CONNECTION_LIMITS,
    requestsAtOnceMax: 1000,
  })
  const reports: string[] = []
  const report = (what: string): void => void reports.push(what)
  const parts = { clock: world.clock, session, connection, sessionId: 's', version: '0', held: null, identified: null }
  const broker = new ToolBroker({ ...parts, report })
  await broker.open()
  const input = new PassThrough()
  const output = new PassThrough()
  const raw = new RawClient(() => undefined)
  output.setEncoding('utf8').on('data', raw.heard)
  const serving = serveStream(connection, { input, output }, new AbortController().signal)
  input.write(`${JSON.stringify(GREETING)}\n`)
  await raw.answer('hello')
  const all = Buffer.concat(frames.flatMap(({ bytes }) => [bytes, Buffer.from('\n')]))
  const edges = [0, ...cuts.map((cut) => cut % (all.length + 1)), all.length].toSorted((left, right) => left - right)
  edges.slice(1).forEach((edge, at) => void input.write(all.subarray(edges[at], edge)))
  input.end()
  await serving
  expect(await broker.end()).toBeNull()
  const ledger = new Ledger()
  for (const frame of frames) ledger.sent(frame)
  for (const message of raw.messages) ledger.heard(message)
  checkAnswers(
    frames,
    raw.messages.slice(1).filter(({ method }) => method === undefined),
  )
  const calls = callsIn(log.entries, new Set()).map((call) => ({ run_id: '', ...call }))
  ledger.check(effects, { calls, unended: [], runs: 1 })
  expect(log.events.at(-1)).toMatchObject({ kind: 'Terminated', reason: 'Completed' })
  expect(reports).toEqual([])
}

test('whatever a client sends, each frame gets its answer, and only permitted calls have their effect, once', async () => {
  let count = 0
  const seeds = fc.array(fc.nat(), { minLength: 1, maxLength: 120, size: 'max' })
  const cuts = fc.array(fc.nat(), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(seeds, cuts, async (each, at) => {
      const client = new HostileClient(
        { chance: chanceOf(0), client: 'c', bait, loot: { invocations: [], handles: [] } },
        PLAIN,
      )
      const frames = each.map((seed) => client.any(chanceOf(seed)))
      count += frames.length
      await accountFor(frames, at)
    }),
    { numRuns: 40 },
  )
  expect(count).toBeGreaterThan(1000)
}, 60_000)
