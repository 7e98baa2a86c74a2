import { chmod, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { SETTINGS_TEXT } from '../../src/cli/init/init-texts.ts'
import { type Config, readConfig } from '../../src/cli/settings/config.ts'
import { CORS_ORIGINS, RATE_LIMIT } from '../../src/server/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'

const world = nodeWorld()

interface Given {
  readonly flags?: object
  readonly env?: Readonly<Record<string, string>>
  readonly toml?: string
  readonly dotenv?: string
}

async function configOf({ flags = {}, env = {}, toml, dotenv }: Given, folder?: TemporaryFolder) {
  await using own = folder === undefined ? await temporaryFolder() : null
  const place = folder ?? own
  if (place === null) throw new Error('a folder is needed')
  if (toml !== undefined) await writeFile(place.of('symbiont.toml'), toml)
  if (dotenv !== undefined) await writeFile(place.of('.env'), dotenv, { mode: 0o600 })
  return await readConfig(world, { root: place.path, flags, env })
}

test('without a word from anybody the defaults hold, and the settings that init writes change none of them', async () => {
  const usual = (await configOf({})).config
  expect(usual).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    provider: null,
    apiKeysFile: null,
    corsOrigins: CORS_ORIGINS,
    trustedProxies: [],
    requestsPerMinuteMax: RATE_LIMIT.perMinute,
    requestsAtOnceMax: RATE_LIMIT.burst,
    logLevel: null,
    insecureAllowAll: false,
    environment: 'development',
    legacyToken: null,
  })
  expect(Object.isFrozen(usual)).toBe(true)
  expect((await configOf({ toml: SETTINGS_TEXT })).config).toEqual(usual)
})

test('what init shows commented out can be used when it is not, and says the defaults or an example', async () => {
  const shown = SETTINGS_TEXT.replace(/^# (\w+ = |\[)/gm, '$1')
  const { config } = await configOf({ toml: shown })
  const usual = (await configOf({})).config
  const { fileRoots, httpOrigins, ...others } = config
  const { fileRoots: _, httpOrigins: __, ...usualOthers } = usual
  expect(others).toEqual({ ...usualOthers, logLevel: 'info', provider: 'anthropic:claude-sonnet-4-5' })
  expect(fileRoots).toMatchObject([{ name: 'docs', hidden: false }])
  expect(httpOrigins).toMatchObject([{ origin: 'https://api.example.org', private: false }])
})

test('a flag wins over the environment, the environment over .env, .env over symbiont.toml', async () => {
  const toml = '[runtime]\nlog_level = "error"\n'
  const level = async (given: Given): Promise<unknown> => (await configOf({ toml, ...given })).config.logLevel
  const dotenv = 'SYMBIONT_LOG_LEVEL=warn\n'
  const env = { SYMBIONT_LOG_LEVEL: 'info' }
  expect(await level({})).toBe('error')
  expect(await level({ dotenv })).toBe('warn')
  expect(await level({ dotenv, env })).toBe('info')
  expect(await level({ dotenv, env, flags: { logLevel: 'debug' } })).toBe('debug')
})

test('a path in a flag means the current folder, and in symbiont.toml the project', async () => {
  await using folder = await temporaryFolder()
  const toml = '[server]\napi_keys_file = "keys.json"\n[model]\nprovider = "scripted:demo.json"\n'
  expect((await configOf({ toml }, folder)).config).toMatchObject({
    apiKeysFile: folder.of('keys.json'),
    provider: `scripted:${folder.of('demo.json')}`,
  })
  const flags = { apiKeysFile: 'keys.json', provider: 'scripted:demo.json' }
  expect((await configOf({ flags, toml }, folder)).config).toMatchObject(flags)
})

test.each<[Given, Partial<Config>]>([
  [{ flags: { rateLimitPerMinute: 'off' } }, { requestsPerMinuteMax: null }],
  [{ toml: '[server]\nrate_limit_per_minute = "off"\n' }, { requestsPerMinuteMax: null }],
  [
    { env: { SYMBIONT_CORS_ORIGINS: 'https://a.example, http://b:1' } },
    { corsOrigins: ['https://a.example', 'http://b:1'] },
  ],
  [{ toml: '[server]\ncors_origins = ["https://a.example"]\n' }, { corsOrigins: ['https://a.example'] }],
  [{ flags: { 'http.corsOrigins': 'none' } }, { corsOrigins: [] }],
  [{ env: { SYMBIONT_ENV: ' Prod ' } }, { environment: 'production' }],
  [{ env: { SYMBIONT_ENV: 'ci' } }, { environment: 'test' }],
  [{ env: { SYMBIONT_ENV: '' } }, { environment: 'development' }],
  [{ env: { SYMBI_INSECURE_ALLOW_ALL: '1' } }, { insecureAllowAll: true }],
  [{ env: { SYMBIONT_TRUSTED_PROXIES: '10.0.0.0/8,::1' } }, { trustedProxies: ['10.0.0.0/8', '::1'] }],
  [{ env: { SYMBIONT_REFUSE_LEGACY_API_TOKEN: 'true' } }, { refuseLegacyToken: true }],
  [{ env: { SYMBI_REJECT_LEGACY_API_KEYS: '1' } }, { rejectLegacyKeys: true }],
])('%j gives %j', async (given, wanted) => {
  expect((await configOf(given)).config).toMatchObject(wanted)
})

describe('what cannot be used is refused by its name', () => {
  test.each<[Given, string, string]>([
    [{ flags: { port: '65536' } }, 'USAGE', '"--port"'],
    [{ flags: { port: '-1' } }, 'USAGE', '"--port"'],
    [{ flags: { rateLimitPerMinute: '0' } }, 'USAGE', '"--rate-limit-per-minute": it must be a whole number from 1'],
    [{ flags: { logLevel: 'loud' } }, 'USAGE', '"--log-level": it must be "debug", "info"'],
    [{ flags: { 'http.corsOrigins': '*' } }, 'USAGE', '"--http.cors-origins"'],
    [{ flags: { 'http.corsOrigins': 'http://a/path' } }, 'USAGE', '"--http.cors-origins"'],
    [{ env: { SYMBIONT_ENV: 'prduction' } }, 'CONFIG_INVALID', '"SYMBIONT_ENV"'],
    [{ env: { SYMBI_INSECURE_ALLOW_ALL: 'maybe' } }, 'CONFIG_INVALID', '"SYMBI_INSECURE_ALLOW_ALL"'],
    [{ env: { SYMBI_INSECURE_ALLOW_ALL: '1', SYMBIONT_ENV: 'production' } }, 'CONFIG_INVALID', 'production'],
    [{ toml: '[server]\nport = "80"\nhost = 1\n' }, 'CONFIG_INVALID', '"symbiont.toml": "server.host" must be'],
    [{ toml: '[server]\nprot = 80\n' }, 'CONFIG_INVALID', '"symbiont.toml": "server.prot" is not a known member'],
    [{ toml: '[sever]\nport = 80\n' }, 'CONFIG_INVALID', '"sever.port" is not a known member'],
    [{ toml: 'port = 80\n' }, 'CONFIG_INVALID', '"port" is no table'],
    [{ toml: '[server]\nport = 80\nport = 81\n' }, 'CONFIG_INVALID', 'line 3'],
    [{ toml: '[server\n' }, 'CONFIG_INVALID', 'line 1'],
    [{ toml: '[server]\ninsecure_allow_all = true\n' }, 'CONFIG_INVALID', 'is not a known member'],
    [{ toml: '[policy]\nenforcement = "permissive"\n' }, 'CONFIG_INVALID', '"policy.enforcement" must be "strict"'],
    [{ toml: '[policy]\npolicy_dir = "elsewhere"\n' }, 'CONFIG_INVALID', '"policy.policy_dir" must be "policies"'],
  ])('%j', async (given, code, words) => {
    await expect(configOf(given)).rejects.toMatchObject({ code, message: expect.stringContaining(words) })
  })

  test.each(['short', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'please-change-me-please-now', 'my-password-is-very-long-1'])(
    'the legacy token %j, without repeating it',
    async (token) => {
      const failure = await configOf({ env: { SYMBIONT_API_TOKEN: token } }).catch((error: unknown) => error)
      expect(failure).toMatchObject({ code: 'CONFIG_INVALID' })
      expect(String(failure)).toContain('SYMBIONT_API_TOKEN')
      expect(JSON.stringify(failure) + String(failure)).not.toContain(token)
    },
  )

  test('a random legacy token is taken', async () => {
    const token = Buffer.from(world.random.bytes(18)).toString('hex')
    expect((await configOf({ env: { SYMBIONT_API_TOKEN: token } })).config.legacyToken).toBe(token)
  })
})

test('settings of other runtimes are let through and named', async () => {
  const toml = '[runtime]\nmode = "dev"\nhot_reload = true\n[sandbox]\ntier = "tier1"\n[policy]\nengine = "cedar"\n'
  expect((await configOf({ toml })).notes).toEqual([
    'Not read by this version in symbiont.toml: runtime.mode, runtime.hot_reload, [sandbox]',
  ])
})

describe('.env', () => {
  test('gives keys and the log level, nothing else, and the names are told', async () => {
    const dotenv = 'OPENAI_API_KEY="from-file"\nANTHROPIC_API_KEY=x\nOPENAI_BASE_URL=http://evil\nPATH=/evil\n'
    const { config, notes } = await configOf({ dotenv, env: { ANTHROPIC_API_KEY: '' } })
    expect(config.providerVariables).toMatchObject({
      OPENAI_API_KEY: 'from-file',
      OPENAI_BASE_URL: undefined,
      ANTHROPIC_API_KEY: '', // what exists in the environment wins, even empty
    })
    expect(notes).toEqual([
      'Loaded from .env: OPENAI_API_KEY',
      'Not loaded from .env, which may hold keys and the log level only: OPENAI_BASE_URL, PATH',
    ])
    expect(notes.join()).not.toContain('from-file')
  })

  test('is refused when others could read it', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('.env'), 'OPENAI_API_KEY=x\n')
    await chmod(folder.of('.env'), 0o644)
    await expect(configOf({}, folder)).rejects.toMatchObject({
      code: 'STORAGE_UNSAFE',
      message: expect.stringContaining('".env"'),
    })
  })
})
