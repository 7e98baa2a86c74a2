/** `symbi keys`: who may connect. A token is printed once, when its key is made; only its hash is kept. */
import { type Command, Option } from 'commander'
import { addKey, listKeys, revokeKey } from '../access/index.ts'
import { type AgentId, idOrNull } from '../core/index.ts'
import { findAgentSource, runnableAgent } from '../delegation/index.ts'
import { addCommand, type Cli, type CommonOptions, type ExitCode } from './cli.ts'
import { jsonLine } from './plain-text.ts'
import { projectPaths } from './project/project-paths.ts'
import { optionsFor, readSetting } from './settings/config.ts'
import { textTable } from './text-table.ts'

interface AddOptions {
  readonly id: string
  readonly agent?: readonly string[]
  readonly description?: string
}

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  const keys = program.command('keys').description('add, list and revoke the API keys of the project')
  const file = optionsFor('apiKeysFile')
  addCommand<AddOptions>(keys, exit, {
    name: 'add',
    summary: 'make a key and print its token, once',
    options: [
      new Option('--id <id>', '1 to 64 letters, digits, hyphens and underscores').makeOptionMandatory(),
      new Option(
        '--agent <name...>',
        'limit the key to these agents, by name or UUID; without it the key is an admin key',
      ),
      new Option('--description <text>', 'what the key is for'),
      ...file,
    ],
    action: (options) => add(cli, options),
  })
  addCommand<object>(keys, exit, {
    name: 'list',
    summary: 'show the keys without their secrets',
    options: file,
    action: (options) => list(cli, options),
  })
  addCommand<object>(keys, exit, {
    name: 'revoke',
    summary: 'end a key now; a running server closes its connections',
    args: [['<id>', 'the id of the key']],
    options: file,
    action: (options, [id = '']) => revoke(cli, options, id),
  })
}

async function add(cli: Cli, options: AddOptions & CommonOptions): Promise<number> {
  const agents =
    options.agent === undefined ? null : await Promise.all(options.agent.map((text) => agentOf(cli, options, text)))
  const path = await keyFileOf(cli, options)
  const key = { keyId: options.id, agents, description: options.description ?? '' }
  const made = await addKey(path, key, cli.world, never())
  if (options.json) {
    cli.console.result(jsonLine(made))
    return 0
  }
  cli.console.result(made.token)
  const scope = agents === null ? 'an admin key' : `limited to ${agents.join(', ')}`
  cli.console.note(`Key "${made.key_id}" (${scope}). Its token is above: keep it now, it is not shown again`)
  return 0
}

/** A UUID is taken as it is; a name is one of the project's agents, whose principal follows from it. */
async function agentOf({ world }: Cli, { project }: CommonOptions, text: string): Promise<AgentId> {
  const id = idOrNull('agent', text)
  if (id !== null) return id
  return runnableAgent(await findAgentSource(world, (await projectPaths(world, project)).root, text)).principal
}

async function list(cli: Cli, options: CommonOptions): Promise<number> {
  const keys = await listKeys(await keyFileOf(cli, options), cli.world)
  if (options.json) {
    for (const key of keys) cli.console.result(jsonLine(key))
    return 0
  }
  if (keys.length === 0) cli.console.note('There are no keys: nobody can connect with one')
  else {
    const rows = keys.map(({ key_id, agent_scope, revoked, created_at, description }) => [
      key_id,
      revoked ? 'revoked' : 'in force',
      agent_scope === null ? 'admin' : agent_scope.length === 0 ? 'no agent' : agent_scope.join(' '),
      created_at,
      description,
    ])
    for (const line of textTable([['KEY', 'STATE', 'SCOPE', 'CREATED', 'DESCRIPTION'], ...rows]))
      cli.console.result(line)
  }
  return 0
}

async function revoke(cli: Cli, options: CommonOptions, id: string): Promise<number> {
  const wasInForce = await revokeKey(await keyFileOf(cli, options), id, cli.world, never())
  if (options.json) cli.console.result(jsonLine({ key_id: id, revoked: true, was_in_force: wasInForce }))
  else cli.console.result(wasInForce ? `Revoked "${id}"` : `"${id}" was revoked before`)
  return 0
}

async function keyFileOf(cli: Cli, options: CommonOptions): Promise<string> {
  const project = await projectPaths(cli.world, options.project)
  const sources = { root: project.root, flags: options, env: cli.env }
  return (await readSetting(cli.world, 'apiKeysFile', sources)) ?? project.keyFile
}

function never(): AbortSignal {
  return new AbortController().signal
}
