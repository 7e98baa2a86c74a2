import { describe, expect, test } from 'vitest'
import { mergeServers, readUpstreamConfig } from '../../src/upstream/index.ts'

const read = (text: string, place = 'mcp-config.toml') => readUpstreamConfig(text, place)
const desk = 'command = "node"\nexpose = ["*"]\n'

test('a server over stdio has a command, and what is left out has a default', () => {
  const text = `[servers.desk]
command = "node"
args = ["srv/desk.mjs"]
env = { LOG = "quiet" }
env_from = ["DESK_TOKEN"]
cwd = "./srv/"
expose = ["notes_create", "notes_read"]
risk = "high"
approval = true
error_answers = "known"
start_timeout_seconds = 3
call_timeout_seconds = 60
`
  expect(read(text)).toEqual([
    {
      name: 'desk',
      transport: 'stdio',
      command: 'node',
      args: ['srv/desk.mjs'],
      env: { LOG: 'quiet' },
      envFrom: ['DESK_TOKEN'],
      cwd: 'srv/',
      expose: ['notes_create', 'notes_read'],
      risk: 'high',
      approval: true,
      errorAnswers: 'known',
      startTimeoutMs: 3000,
      callTimeoutMs: 60_000,
    },
  ])
  expect(read(`[servers.desk]\n${desk}`)).toMatchObject([
    {
      args: [],
      env: {},
      envFrom: [],
      cwd: null,
      expose: '*',
      risk: 'medium',
      approval: false,
      errorAnswers: 'unknown',
    },
  ])
})

test('a server over HTTP has a URL, and its credentials are names of variables', () => {
  const text = `[servers.web]
transport = "http"
url = "https://mcp.example/rpc"
headers_env = { Authorization = "HELPDESK_TOKEN" }
expose = ["a"]
`
  expect(read(text)).toMatchObject([
    { transport: 'http', url: 'https://mcp.example/rpc', headersEnv: { Authorization: 'HELPDESK_TOKEN' } },
  ])
})

test('symbiont.toml has the same tables below "mcp", beside tables that are none of ours', () => {
  expect(read(`[server]\nport = 1\n[mcp.servers.desk]\n${desk}`, 'symbiont.toml')).toMatchObject([{ name: 'desk' }])
  expect(read('[server]\nport = 1\n', 'symbiont.toml')).toEqual([])
  expect(read('')).toEqual([])
})

test('a name that stands in both files is refused', () => {
  const servers = read(`[servers.desk]\n${desk}`)
  expect(() => mergeServers(servers, servers)).toThrow(/both "mcp-config.toml" and "symbiont.toml"/)
})

describe('what is refused is named with its line', () => {
  test.each([
    [
      'a misspelt member',
      `[servers.desk]\n${desk}comand = "x"\n`,
      'line 4: "servers.desk.comand" is not a known member',
    ],
    ['a table beside', `[servers.desk]\n${desk}[other]\na = 1\n`, 'line 4: "other" is not a known table'],
    ['no list of tools', '[servers.desk]\ncommand = "node"\n', 'line 1: "servers.desk.expose" is missing'],
    [
      '"*" and a name',
      '[servers.desk]\ncommand = "n"\nexpose = ["*", "a"]\n',
      'line 3: "servers.desk.expose" must name tools, or be ["*"]',
    ],
    ['a tool twice', '[servers.desk]\ncommand = "n"\nexpose = ["a", "a"]\n', 'names "a" twice'],
    ['another word for it', `[servers.desk]\n${desk}error_answers = "ok"\n`, 'must be "unknown" or "known"'],
    ['no command', '[servers.desk]\nexpose = ["a"]\n', '"servers.desk.command" must be a text'],
    [
      'a command as a list',
      '[servers.desk]\ncommand = ["a"]\nexpose = ["a"]\n',
      'line 2: "servers.desk.command" must be a text',
    ],
    ['a name with the mark', `[servers.a__b]\n${desk}`, 'line 1: "servers.a__b" must be 1 to 32 letters'],
    ['a name with a dot', `[servers."a.b"]\n${desk}`, 'line 1: "servers.a.b" must be 1 to 32 letters'],
    [
      'a URL for stdio',
      `[servers.desk]\n${desk}url = "https://a"\n`,
      'line 4: "servers.desk.url" is not for a server whose transport is "stdio"',
    ],
    [
      'a folder outside',
      `[servers.desk]\n${desk}cwd = "../x"\n`,
      'line 4: "servers.desk.cwd" must be a folder of the project',
    ],
    ['an absolute folder', `[servers.desk]\n${desk}cwd = "/tmp"\n`, 'must be a folder of the project'],
    [
      'a credential in a URL',
      '[servers.w]\ntransport = "http"\nurl = "https://u:p@a/"\nexpose = []\n',
      'line 3: "servers.w.url" must be a URL without user',
    ],
    [
      'a query in a URL',
      '[servers.w]\ntransport = "http"\nurl = "https://a/?key=1"\nexpose = []\n',
      'credentials go into "headers_env"',
    ],
    [
      'another scheme',
      '[servers.w]\ntransport = "http"\nurl = "file:///a"\nexpose = []\n',
      'must be a URL that starts with',
    ],
    [
      'a header of the protocol',
      '[servers.w]\ntransport = "http"\nurl = "https://a/"\nheaders_env = { Host = "A" }\nexpose = []\n',
      'line 4: "servers.w.headers_env" must be a table',
    ],
    [
      'a variable twice',
      `[servers.desk]\n${desk}env = { A = "1" }\nenv_from = ["A"]\n`,
      'line 5: "servers.desk.env_from" names "A", which "env" sets',
    ],
    [
      'no time at all',
      `[servers.desk]\n${desk}call_timeout_seconds = 0\n`,
      'line 4: "servers.desk.call_timeout_seconds" must be a whole number',
    ],
    ['what is no TOML', '[servers.desk\n', 'line 1'],
    ['a NUL', '[servers.desk]\ncommand = "a\\u0000"\nexpose = ["a"]\n', 'must be a text'],
  ])('%s', (_what, text, says) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(says) }),
    )
  })

  test('too many servers', () => {
    const text = Array.from({ length: 33 }, (_, at) => `[servers.s${at}]\n${desk}`).join('')
    expect(() => read(text)).toThrow('33 servers are more than 32')
  })
})

test('what the reader of TOML says is told without its full stop', () => {
  const nested = `n=${'{o='.repeat(20)}`
  expect(() => read(nested)).toThrow(/^Cannot use "mcp-config.toml": line 1: .*[^.]$/)
})
