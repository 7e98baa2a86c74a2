/** The files of settings that a person writes: what is misspelt is refused with its place, and nothing of it is guessed. */

import { readEnvFile } from '../../../src/cli/project/project-files.ts'
import { readConfig, readSetting } from '../../../src/cli/settings/config.ts'
import { isFault } from '../../../src/core/index.ts'
import { mergeServers, readUpstreamConfig } from '../../../src/upstream/index.ts'
import { fileWorld } from '../file-world.ts'
import { answer, answerOf, must, plain, pure, type Target, textOf } from '../target.ts'

const TOML_WORDS = [
  '[',
  ']',
  '[[',
  ' = ',
  '"""',
  "'''",
  '\n',
  '\r\n',
  '# ',
  '{ a = 1 }',
  '1979-05-27T07:32:00Z',
  '0x1f',
  '1_000',
  'inf',
  'nan',
  'true',
  '__proto__',
  'constructor',
  '"\\u0000"',
  '."a b".',
]

export const settingsToml: Target = {
  name: 'settings-toml',
  property:
    'settings are frozen values of the table, or a refusal that names the place; what a file does not say is what it is without the file',
  seeds: [
    '[policy]\nengine = "cedar"\nenforcement = "strict"\npolicy_dir = "policies/"\n[sandbox]\nx = 1\n',
    '[runtime]\nmode = "dev"\nlog_level = "debug"\n[server]\nport = 8080\nhost = "127.0.0.1"\napi_keys_file = "k.json"\ncors_origins = ["http://localhost:3000"]\ntrusted_proxies = "10.0.0.0/8"\nrate_limit_per_minute = "off"\nrate_limit_burst = 5\n',
    '[model]\nprovider = "scripted:a.json"\n[approvals]\ntools = ["a", "delegate"]\ntimeout_seconds = 60\n[mcp.servers.files]\ncommand = "x"\n',
    '[tools]\nfile_roots = { docs = "docs", notes = { path = "notes", hidden = true } }\nhttp_origins = ["https://a.example", { origin = "https://b.example", methods = ["GET"], private = false, headers_env = { Authorization = "SYMBI_HTTP_A" } }]\n',
    '[a]\nb = { c = [1, { d = 2 }] }\n[[x]]\ny = 1979-05-27\n',
  ],
  words: [
    ...TOML_WORDS,
    '[server]',
    '[tools]',
    'file_roots = ',
    'http_origins = ',
    'trusted_proxies = ',
    '"none"',
    '"off"',
    '[approvals]',
    '[runtime]',
    '[model]',
    'port',
    'host',
  ],
  bytesMax: 3072,
  steps: { fixed: 30_000, perByte: 200 },
  open: async () => {
    const usual = JSON.stringify((await readConfig(fileWorld(new Uint8Array(), 'symbiont.toml'), SOURCES)).config)
    return pure((input) => checkSettings(input, usual))
  },
}

const SOURCES = { root: '/project', flags: {}, env: {} }

async function checkSettings(input: Uint8Array, usual: string): Promise<void> {
  const world = fileWorld(input, 'symbiont.toml')
  const read = await answerOf(() => readConfig(world, SOURCES))
  const one = await answerOf(() => readSetting(world, 'environment', SOURCES))
  if (read.kind === 'Fault') {
    must(isFault(read.fault, 'CONFIG_INVALID'), 'a refusal is CONFIG_INVALID')
    must(
      read.fault.message.includes('symbiont.toml') || read.fault.message.startsWith('Cannot switch'),
      'a refusal names the file',
    )
    return
  }
  must(one.kind === 'Value', 'where all settings can be read, one can')
  const { config, notes } = read.value
  must(Object.isFrozen(config) && notes.every((note) => note.isWellFormed()), 'settings are frozen')
  must(
    Object.keys(config).join() ===
      Object.keys(JSON.parse(JSON.stringify({ ...config }, (_, value) => value ?? null))).join(),
    'settings are the rows of the table',
  )
  if (!textOf(input).includes('=')) must(JSON.stringify(config) === usual, 'a file without members changes nothing')
}

export const envFile: Target = {
  name: 'env-file',
  property:
    'of a private file of variables only keys, headers for tools and the log level are taken, and every other name is told',
  seeds: [
    'OPENAI_API_KEY=abc\nSYMBIONT_LOG_LEVEL="debug"\n# c\nOPENAI_BASE_URL=http://x\n',
    "export SYMBI_HTTP_A='b\nc'\n__proto__=1\nconstructor=2\n",
    'A_API_KEY = `x`\r\n=\n==\n',
  ],
  words: [
    '_API_KEY=',
    'SYMBI_HTTP_',
    'SYMBIONT_MASTER_KEY=',
    'export ',
    '__proto__=',
    '"',
    "'",
    '`',
    '\n',
    '\r\n',
    '#',
    '\\n',
    '$A',
  ],
  bytesMax: 2048,
  steps: { fixed: 3000, perByte: 40 },
  open: () => pure(checkEnv),
}

const TAKEN = /^(?:[A-Z][A-Z0-9_]*_API_KEY|SYMBI_HTTP_[A-Z0-9_]+|SYMBIONT_MASTER_KEY|SYMBIONT_LOG_LEVEL)$/

async function checkEnv(input: Uint8Array): Promise<void> {
  const read = await answerOf(() => readEnvFile(fileWorld(input), '/project'))
  must(read.kind === 'Value', 'a private file of variables can be read')
  const { variables, refused } = read.value
  plain(variables)
  for (const [name, value] of Object.entries(variables))
    must(TAKEN.test(name) && typeof value === 'string', `"${name}" may be taken`)
  for (const name of refused) must(!Object.hasOwn(variables, name), 'what is told as refused is not taken')
}

export const upstreamConfig: Target = {
  name: 'upstream-config',
  property:
    'tool servers have names, bounds and members of the table, and each is of one transport; everything else is CONFIG_INVALID, with its line where there is one',
  seeds: [
    '[servers.files]\ncommand = "node"\nargs = ["a.mjs"]\nexpose = ["read"]\nenv = { A = "b" }\nenv_from = ["HOME"]\ncwd = "sub"\n',
    '[servers.web]\ntransport = "http"\nurl = "https://a.example/mcp"\nexpose = ["*"]\nrisk = "high"\napproval = true\nheaders_env = { Authorization = "TOKEN" }\nstart_timeout_seconds = 5\ncall_timeout_seconds = 60\nerror_answers = "known"\n',
    '[servers."a b"]\ncommand = "x"\n[servers.__proto__]\n',
    '[servers]\na = 1\n[other]\n',
  ],
  words: [
    ...TOML_WORDS,
    '[servers.a]',
    'command',
    'args',
    'expose',
    'transport',
    '"http"',
    'url',
    'env',
    'env_from',
    'cwd',
    '"../x"',
    'headers_env',
    'risk',
    'https://u:p@h/',
  ],
  bytesMax: 3072,
  steps: { fixed: 10_000, perByte: 200 },
  open: () => pure(checkUpstream),
}

function checkUpstream(input: Uint8Array): void {
  const text = textOf(input)
  for (const [place, given] of [
    ['mcp-config.toml', text],
    ['symbiont.toml', text.replaceAll('[servers', '[mcp.servers')],
  ] as const) {
    const read = answer(() => mergeServers(readUpstreamConfig(given, place)))
    if (read.kind === 'Fault') {
      must(
        isFault(read.fault, 'CONFIG_INVALID') && read.fault.message.includes(place),
        'a refusal is CONFIG_INVALID and names the file',
      )
      const { line } = read.fault.facts
      must(
        line === undefined || (Number(line) >= 1 && Number(line) <= given.split('\n').length),
        'a line is one of the file',
      )
      continue
    }
    must(read.value.length <= 32, 'there are at most 32 servers')
    for (const server of read.value) {
      must(/^[A-Za-z0-9_-]{1,32}$/.test(server.name) && !server.name.includes('__'), 'a server has a plain name')
      must(server.startTimeoutMs >= 1000 && server.callTimeoutMs <= 3_600_000, 'its times are bounded')
      must(
        server.expose === '*' || server.expose.every((name) => /^\S{1,128}$/u.test(name)),
        'it exposes tools by name',
      )
      if (server.transport === 'http')
        must(
          /^https?:$/.test(new URL(server.url).protocol) && new URL(server.url).username === '',
          'an address is one of HTTP, without a secret',
        )
      else must(server.command.trim() !== '' && !('url' in server), 'a program has a command and no address')
    }
  }
}
