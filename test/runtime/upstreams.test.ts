/** Foreign tools in whole runs: judged, journalled, sent once; and what a run knows when a server breaks. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { verifyRun } from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { openRuntime, openUpstreams, projectAt, type UpstreamNews } from '../../src/runtime/index.ts'
import { testWorld } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { inProcess } from '../support/cli.ts'
import { startHttpServer } from '../support/mcp/http-server.mjs'
import { STDIO_SERVER } from '../support/mcp/upstreams.ts'
import { callOf, modelOf } from '../support/scripted-model.ts'
import { type TemporaryProject, temporaryProject } from '../support/temporary-project.ts'

const world = nodeWorld()
const env = { PATH: process.env.PATH, HOME: '/nonexistent' }
const POLICY = `permit(principal, action == Action::"respond", resource);
permit(principal, action == Action::"tool_call::mcp__desk__note", resource)
when { context.invocation.resolved.mcp.risk != "high" && context.invocation.arguments.line != "forbidden" };
permit(principal, action == Action::"tool_call::mcp__desk__misbehave", resource);
permit(principal, action == Action::"tool_call::mcp__desk__echo", resource);
`

function projectWith(config: string, policy = POLICY): TemporaryProject & { readonly effects: string } {
  const project = temporaryProject()
  mkdirSync(join(project.root, 'policies'))
  writeFileSync(join(project.root, 'policies', 'all.cedar'), policy)
  const effects = join(project.root, 'effects')
  writeFileSync(effects, '')
  writeFileSync(join(project.root, 'mcp-config.toml'), config.replaceAll('EFFECTS', effects))
  return { ...project, effects }
}

const STDIO = `[servers.desk]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(STDIO_SERVER)}, "honest", "EFFECTS"]
expose = ["note", "misbehave", "echo"]
`

async function runtimeOf(project: TemporaryProject, model: ReturnType<typeof modelOf>, news: UpstreamNews[] = []) {
  const upstreams = await openUpstreams(world, projectAt(project.root), { env, report: (item) => news.push(item) })
  const runtime = await openRuntime({ project: project.root, provider: model, tools: upstreams.tools() })
  return {
    ...runtime,
    upstreams,
    [Symbol.asyncDispose]: async () => {
      await runtime.close()
      await upstreams.close()
    },
  }
}

test('a permitted call takes effect once, and one that policy does not permit never reaches the server', async () => {
  using project = projectWith(STDIO)
  const model = modelOf(
    callOf('1', 'mcp__desk__note', { line: 'forbidden' }),
    callOf('2', 'mcp__desk__note', { line: 'one' }),
    callOf('3', 'mcp__desk__note', { words: 'no such argument' }),
    { content: 'done' },
  )
  await using runtime = await runtimeOf(project, model)
  expect(await runtime.ask('go')).toMatchObject({ content: 'done' })
  expect(readFileSync(project.effects, 'utf8')).toBe('one\n')
})

test('over HTTP the intent of the request is durable before it, and its receipt stands in the same journal', async () => {
  const remote = await startHttpServer()
  afterAll(() => remote.close())
  using project = projectWith(`[servers.desk]\ntransport = "http"\nurl = "${remote.url}"\nexpose = ["echo"]\n`)
  const model = modelOf(callOf('1', 'mcp__desk__echo', { text: 'hi' }), { content: 'done' })
  await using runtime = await runtimeOf(project, model)
  const { audit } = await runtime.ask('go')
  const entries = await verifyRun(world, audit.path, parsePublicKey(audit.public_key), audit.run_id)
  const effects = entries.flatMap(({ event }) => (event.kind === 'ToolEffect' ? [event.effect] : []))
  expect(effects).toMatchObject([
    { NetworkRequestStarted: { method: 'POST', url: remote.url } },
    { NetworkRequestFinished: { status: 200, error: null } },
  ])
  const kinds = entries.map(({ event }) => event.kind)
  expect(kinds.indexOf('ToolDispatchStarted')).toBeLessThan(kinds.indexOf('ToolEffect'))
})

test.each(['exits', 'garbage', 'other-id'])(
  'when the server breaks in the way "%s" the run knows that it does not know, and nothing is sent again',
  async (how) => {
    using project = projectWith(STDIO)
    const model = modelOf(
      callOf('1', 'mcp__desk__misbehave', { how }),
      callOf('2', 'mcp__desk__note', { line: 'two' }),
      {
        content: 'done',
      },
    )
    await using runtime = await runtimeOf(project, model)
    await expect(runtime.ask('go')).rejects.toMatchObject({ code: 'INVOCATION_UNRESOLVED' })
    expect(readFileSync(project.effects, 'utf8')).toBe(`${how}\n`)
  },
)

test('a tool that drifted is refused before policy is asked, and the model is told why', async () => {
  using project = projectWith(STDIO)
  const mode = join(project.root, 'mode')
  const text = STDIO.replace('"honest"', JSON.stringify(`@${mode}`)).replace('EFFECTS', project.effects)
  writeFileSync(join(project.root, 'mcp-config.toml'), text)
  writeFileSync(mode, 'honest')
  const model = modelOf(
    async () => {
      writeFileSync(mode, 'drifted')
      return callOf('1', 'mcp__desk__misbehave', { how: 'changes' })
    },
    callOf('2', 'mcp__desk__note', { line: 'secret' }),
    { content: 'done' },
  )
  await using runtime = await runtimeOf(project, model)
  expect(await runtime.ask('go')).toMatchObject({ content: 'done' })
  expect(readFileSync(project.effects, 'utf8')).toBe('changes\n')
  const told = JSON.stringify(model.asked.at(-1)?.conversation.messages)
  expect(told).toContain('its description or its schema is not the one that was pinned')
})

test('what symbiont.toml configures is found too, and a name in both files is refused', async () => {
  using project = projectWith('')
  const table = STDIO.replace('[servers.', '[mcp.servers.').replace('EFFECTS', project.effects)
  writeFileSync(join(project.root, 'symbiont.toml'), `[server]\nport = 0\n\n${table}`)
  await using upstreams = await openUpstreams(testWorld(), projectAt(project.root), { env })
  expect(upstreams.tools()).toHaveLength(3)
  writeFileSync(join(project.root, 'mcp-config.toml'), STDIO)
  await expect(openUpstreams(world, projectAt(project.root), { env })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

test('symbi run uses the tools of a server, and leaves no child behind', async () => {
  using project = projectWith(STDIO)
  mkdirSync(join(project.root, 'agents'))
  mkdirSync(join(project.root, '.symbiont'), { mode: 0o700 })
  writeFileSync(join(project.root, 'agents', 'clerk.symbi'), 'agent clerk {}\n')
  const script = {
    model: 'demo',
    rules: [
      { when: { last_role: 'tool' }, reply: { content: 'noted it' } },
      { when: {}, reply: { tool_calls: [{ id: 'c1', name: 'mcp__desk__misbehave', arguments: { how: 'pid' } }] } },
    ],
  }
  writeFileSync(join(project.root, 'script.json'), JSON.stringify(script))
  const args = [
    'run',
    'clerk',
    '--project',
    project.root,
    '--provider',
    `scripted:${join(project.root, 'script.json')}`,
  ]
  const ran = await inProcess(args, { env: { PATH: process.env.PATH ?? '' } })
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('noted it') })
  expect(ran.stderr).toContain('Tools of "desk" seen for the first time, and pinned: mcp__desk__note')
  const [journal = ''] = readdirSync(project.governed).filter((name) => name.endsWith('.jsonl'))
  const pid = Number(/"content":"(\d+)"/.exec(readFileSync(join(project.governed, journal), 'utf8'))?.[1])
  expect(pid).toBeGreaterThan(1)
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})
