/** The ready-made tools in governed runs: what policy of both kinds says about them, and what the journal keeps. */

import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseId } from '../../src/core/index.ts'
import { runnableAgent } from '../../src/delegation/index.ts'
import type { Entry } from '../../src/events/index.ts'
import { verifyRun } from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { cedarGate, type Gate } from '../../src/policy/index.ts'
import {
  type AgentRun,
  openRuntime,
  projectAt,
  type ReadyMadeTools,
  readyMadeTools,
  runAgent,
} from '../../src/runtime/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { allowAll } from '../support/gates.ts'
import { callOf, modelOf, type Reply } from '../support/scripted-model.ts'
import { ROOT } from '../support/sources.ts'
import { type TemporaryProject, temporaryProject } from '../support/temporary-project.ts'

const world = nodeWorld()
const never = new AbortController().signal
const READER = 'agent reader { policy own { deny: "list_files" } }'

function projectWithDocs(): TemporaryProject & { readonly roots: ReadyMadeTools } {
  const project = temporaryProject()
  mkdirSync(join(project.root, 'docs', 'drafts'), { recursive: true })
  writeFileSync(join(project.root, 'docs', 'a.md'), 'as written')
  writeFileSync(join(project.root, 'docs', 'drafts', 'b.md'), 'not yet')
  return Object.assign(project, { roots: { fileRoots: [{ name: 'docs', path: join(project.root, 'docs') }] } })
}

async function ran(
  project: TemporaryProject,
  readyMade: ReadyMadeTools,
  replies: readonly Reply[],
  gate: Gate = allowAll,
) {
  const model = modelOf(...replies)
  const run = await runAgent(
    {
      world,
      project: projectAt(project.root),
      provider: model,
      target: runnableAgent({ file: 'agents/reader.symbi', text: READER, selector: 'reader' }),
      input: 'go',
      id: parseId('invocation', '3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'),
      gate,
      readyMade,
    },
    never,
  )
  return { run, model, entries: await entriesOf(run) }
}

async function entriesOf(run: AgentRun): Promise<readonly Entry[]> {
  if (!('audit' in run) || run.audit === null) throw new Error('the run has no audit')
  const { path, public_key, run_id } = run.audit
  return await verifyRun(world, path, parsePublicKey(public_key), parseId('run', run_id))
}

async function httpServer(answer: number | null) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    if (answer === null) request.socket.destroy()
    else response.writeHead(answer).end('told')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

/** The policies that the guide shows, word for word. */
const SHOWN = [...readFileSync(join(ROOT, 'docs', 'tools.md'), 'utf8').matchAll(/```cedar\n([\s\S]*?)```/g)].map(
  ([, source = ''], index) => ({ name: `shown-${index}`, source, active: true }),
)
const REPLIES = { name: 'replies', source: 'permit(principal, action == Action::"respond", resource);', active: true }

test('a run reads below a configured root, restricted by the policy in its source and by that of the project', async () => {
  using project = projectWithDocs()
  expect(SHOWN).toHaveLength(3)
  using gate = cedarGate({ policies: [...SHOWN, REPLIES], default: 'deny' })
  const replies = [
    callOf('c1', 'read_file', { path: 'docs/a.md' }),
    callOf('c2', 'read_file', { path: 'docs/drafts/b.md' }),
    callOf('c3', 'list_files', { path: 'docs' }),
    callOf('c4', 'search_files', { path: 'docs', text: 'not yet' }),
    { content: 'read' },
  ]
  const { run, entries, model } = await ran(project, project.roots, replies, gate)
  expect(run).toMatchObject({ result: { completed: true, output: 'read' } })
  const begun = entries.flatMap(({ event }) => (event.kind === 'ToolDispatchStarted' ? [event.tool_name] : []))
  expect(begun).toEqual(['read_file', 'search_files'])
  const denied = entries.flatMap(({ event }) => (event.kind === 'PolicyEvaluated' ? (event.denied_calls ?? []) : []))
  expect(denied.map(({ reason }) => reason)).toEqual([
    expect.stringContaining('policy does not allow'),
    expect.stringContaining('inline policy own'),
  ])
  const heard = model.asked
    .at(-1)
    ?.conversation.messages.map(({ content }) => content)
    .join('\n')
  expect(heard).toContain('as written')
  expect(JSON.stringify(entries.map(({ event }) => event).slice(1))).not.toContain(`${project.root}/docs`)
})

test('an agent that a task is delegated to has them too, and the chat itself', async () => {
  using project = projectWithDocs()
  mkdirSync(join(project.root, 'agents'))
  writeFileSync(join(project.root, 'agents', 'reader.symbi'), READER)
  const provider = modelOf(
    callOf('d1', 'delegate', { agent: 'reader', task: 'read it' }),
    callOf('c1', 'read_file', { path: 'docs/a.md' }),
    { content: 'the child has read' },
    { content: 'done' },
  )
  await using runtime = await openRuntime({ project: project.root, provider, gate: allowAll, readyMade: project.roots })
  await runtime.ask('go')
  const offered = provider.asked.map(({ options }) => options.tool_definitions?.map(({ name }) => name) ?? [])
  for (const names of offered)
    expect(names).toEqual(expect.arrayContaining(['read_file', 'list_files', 'search_files']))
  const told = provider.asked[2]?.conversation.messages.at(-1)?.content
  expect(told).toContain('as written')
})

test('a request stands in the journal between the start and the end of its call', async () => {
  using project = temporaryProject()
  await using server = await httpServer(200)
  const replies = [callOf('c1', 'http_request', { method: 'GET', url: `${server.origin}/v1/x` }), { content: 'asked' }]
  const { run, entries } = await ran(project, { httpOrigins: [server.origin] }, replies)
  expect(run).toMatchObject({ result: { completed: true } })
  const kinds = entries.map(({ event }) => (event.kind === 'ToolEffect' ? Object.keys(event.effect)[0] : event.kind))
  const from = kinds.indexOf('ToolDispatchStarted')
  expect(kinds.slice(from, from + 4)).toEqual([
    'ToolDispatchStarted',
    'NetworkRequestStarted',
    'NetworkRequestFinished',
    'ToolDispatchFinished',
  ])
  expect(server.asked).toEqual(['GET /v1/x'])
})

test('an answer that never came ends the run: what the server did is not known', async () => {
  using project = temporaryProject()
  await using server = await httpServer(null)
  const replies = [callOf('c1', 'http_request', { method: 'GET', url: server.origin }), { content: 'never said' }]
  const { run, model, entries } = await ran(project, { httpOrigins: [server.origin] }, replies)
  expect(run.kind).toBe('Unresolved')
  expect(entries.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: 'UnconfirmedEffects' })
  expect(model.asked).toHaveLength(1)
  expect(server.asked).toHaveLength(1)
})

test('a method that may change something needs a person, whatever policy says', async () => {
  using project = temporaryProject()
  await using server = await httpServer(200)
  const origins = { httpOrigins: [{ origin: server.origin, methods: ['GET', 'POST'] as const }] }
  const post = callOf('c1', 'http_request', { method: 'POST', url: server.origin, body: 'x' })
  const { run, entries } = await ran(project, origins, [post, { content: 'denied' }])
  expect(run).toMatchObject({ result: { completed: true } })
  expect(server.asked).toEqual([])
  expect(JSON.stringify(entries)).toContain('nobody can approve here')
})

test('a root that is not there is refused before anything is opened, and one given over a link is resolved once', async () => {
  using project = temporaryProject()
  const nowhere = { fileRoots: [{ name: 'docs', path: join(project.root, 'none') }] }
  const opening = openRuntime({
    project: project.root,
    provider: modelOf({ content: 'x' }),
    gate: allowAll,
    readyMade: nowhere,
  })
  await expect(opening).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('"docs"') })
  await expect(ran(project, nowhere, [{ content: 'x' }])).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  expect(readdirSync(project.root)).toEqual([])
})

test('where files cannot be opened below a folder that is held, a root is refused at the start', async () => {
  using project = projectWithDocs()
  const elsewhere = { ...world, files: { ...world.files, place: () => Promise.reject(unsupported) } }
  const unsupported = Object.assign(new Error('no'), { code: 'PLATFORM_UNSUPPORTED' })
  await expect(readyMadeTools(project.roots, elsewhere)).rejects.toMatchObject({ code: 'PLATFORM_UNSUPPORTED' })
})
