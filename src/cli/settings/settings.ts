/**
 * Every setting of the command line in one table: where it can be given, its default, and a sentence. `docs/configuration.md`
 * is compared with this table by a test, so a setting that is not here does not exist.
 *
 * A flag wins over the environment, the environment over `.env`, that over `symbiont.toml`, and that over the default.
 * Units stand in the names. What could switch policy off, or holds a secret, cannot be given in `symbiont.toml`: that file
 * is shared and committed.
 */
import { CORS_ORIGINS, RATE_LIMIT } from '../../server/index.ts'
import { environmentName, strongToken } from './environment.ts'
import { fileRoots, httpOrigins, type OriginSetting, type RootSetting } from './tool-settings.ts'
import {
  isOrigin,
  isToolName,
  list,
  oneOf,
  path,
  provider,
  type Reader,
  whole,
  wholeOrOff,
  word,
  yes,
} from './values.ts'

export interface Setting<T> {
  readonly says: string
  /** As commander spells it. */
  readonly flag?: string
  readonly env?: string
  /** `table.member` of `symbiont.toml`. */
  readonly member?: string
  readonly read: Reader<T>
  /** What is used when nobody says anything, and how the documentation puts it. */
  readonly usual: T
  readonly usualText: string
}

function setting<T>(row: Setting<T>): Setting<T> {
  return row
}

const text = (env: string, says: string, usualText = 'none'): Setting<string | null> =>
  setting<string | null>({ env, says, read: word, usual: null, usualText })

export const SETTINGS = {
  host: setting({
    flag: '--host <address>',
    member: 'server.host',
    read: word,
    usual: '127.0.0.1',
    usualText: '127.0.0.1',
    says: 'Address to listen on. One that other machines can reach is refused while no credential exists',
  }),
  port: setting({
    flag: '-p, --port <number>',
    member: 'server.port',
    read: whole(0, 65_535),
    usual: 8080,
    usualText: '8080',
    says: 'Port for HTTP and WebSocket; 0 takes any free one',
  }),
  apiKeysFile: setting<string | null>({
    flag: '--api-keys-file <file>',
    member: 'server.api_keys_file',
    read: path,
    usual: null,
    usualText: '.symbiont/api-keys.json',
    says: 'File of the API keys. A relative path means the current folder in a flag, the project in the file',
  }),
  corsOrigins: setting<readonly string[]>({
    flag: '--http.cors-origins <list>',
    env: 'SYMBIONT_CORS_ORIGINS',
    member: 'server.cors_origins',
    read: list(isOrigin, 'origins such as http://localhost:3000, without a path'),
    usual: CORS_ORIGINS,
    usualText: CORS_ORIGINS.join(','),
    says: 'Origins of web pages that may call, comma-separated, or none',
  }),
  trustedProxies: setting<readonly string[]>({
    env: 'SYMBIONT_TRUSTED_PROXIES',
    member: 'server.trusted_proxies',
    read: list(() => true, 'addresses or blocks such as 10.0.0.0/8'),
    usual: [],
    usualText: 'none',
    says: 'Addresses or blocks whose forwarding headers are believed, comma-separated',
  }),
  requestsPerMinuteMax: setting<number | null>({
    flag: '--rate-limit-per-minute <number>',
    member: 'server.rate_limit_per_minute',
    read: wholeOrOff(1_000_000_000),
    usual: RATE_LIMIT.perMinute,
    usualText: String(RATE_LIMIT.perMinute),
    says: 'Requests and upgrades that one address may make in a minute, or off',
  }),
  requestsAtOnceMax: setting({
    flag: '--rate-limit-burst <number>',
    member: 'server.rate_limit_burst',
    read: whole(1, 1_000_000_000),
    usual: RATE_LIMIT.burst,
    usualText: String(RATE_LIMIT.burst),
    says: 'How many of them may come at once after a quiet time',
  }),
  provider: setting<string | null>({
    flag: '--provider <form>',
    member: 'model.provider',
    read: provider,
    usual: null,
    usualText: 'the first API key that is set, else demo-model.json',
    says: 'The model: scripted:FILE, openai:MODEL, anthropic:MODEL or openrouter:MODEL',
  }),
  fileRoots: setting<readonly RootSetting[]>({
    member: 'tools.file_roots',
    read: fileRoots,
    usual: [],
    usualText: 'none',
    says: 'Folders, by name, that read_file, list_files and search_files may look into: tools.md',
  }),
  httpOrigins: setting<readonly OriginSetting[]>({
    member: 'tools.http_origins',
    read: httpOrigins,
    usual: [],
    usualText: 'none',
    says: 'Origins that http_request may ask: tools.md',
  }),
  logLevel: setting<'debug' | 'info' | 'warn' | 'error' | 'silent' | null>({
    flag: '--log-level <level>',
    env: 'SYMBIONT_LOG_LEVEL',
    member: 'runtime.log_level',
    read: oneOf('debug', 'info', 'warn', 'error', 'silent'),
    usual: null,
    usualText: 'warn where stderr is a terminal, else info',
    says: 'The least level that is logged to stderr: debug, info, warn, error or silent',
  }),
  approvalTools: setting<readonly string[]>({
    env: 'SYMBIONT_REQUIRE_APPROVAL_TOOLS',
    member: 'approvals.tools',
    read: list(isToolName, 'names of tools'),
    usual: [],
    usualText: 'none',
    says: 'Tools whose every call needs a person, beside those that say so themselves; delegate means delegations',
  }),
  approvalSecondsMax: setting({
    flag: '--approval-timeout <seconds>',
    env: 'SYMBIONT_ESCALATION_TIMEOUT',
    member: 'approvals.timeout_seconds',
    read: whole(1, 3600),
    usual: 120,
    usualText: '120',
    says: 'How long a call waits for a person, and never longer than its run has left; then it is denied',
  }),
  approvalTerminal: setting({
    flag: '--approval-terminal',
    read: yes,
    usual: false,
    usualText: 'off',
    says: 'Asks for approvals on the terminal of this process, never on standard input',
  }),
  insecureAllowAll: setting({
    flag: '--insecure-allow-all',
    env: 'SYMBI_INSECURE_ALLOW_ALL',
    read: yes,
    usual: false,
    usualText: 'off',
    says: 'Development only: switches policy off and says so at every action; refused in production',
  }),
  environment: setting<'development' | 'staging' | 'production' | 'test'>({
    env: 'SYMBIONT_ENV',
    read: environmentName,
    usual: 'development',
    usualText: 'development',
    says: 'development (dev, local), staging (stage, preview), production (prod) or test (ci)',
  }),
  legacyToken: setting<string | null>({
    env: 'SYMBIONT_API_TOKEN',
    read: strongToken,
    usual: null,
    usualText: 'none',
    says: 'One admin token of 20 characters or more, in force only while the key file holds no records',
  }),
  refuseLegacyToken: setting({
    env: 'SYMBIONT_REFUSE_LEGACY_API_TOKEN',
    read: yes,
    usual: false,
    usualText: 'off',
    says: 'Refuses that token everywhere',
  }),
  rejectLegacyKeys: setting({
    env: 'SYMBI_REJECT_LEGACY_API_KEYS',
    read: yes,
    usual: false,
    usualText: 'off',
    says: 'Refuses tokens that lack the form id.secret',
  }),
  openrouterKey: text(
    'OPENROUTER_API_KEY',
    'Key for OpenRouter; the first of the three keys that is set chooses the model',
  ),
  openrouterUrl: text('OPENROUTER_BASE_URL', 'Where OpenRouter is reached', 'https://openrouter.ai/api/v1'),
  openrouterModel: text('OPENROUTER_MODEL', 'Model for OpenRouter', 'anthropic/claude-sonnet-4.5'),
  openaiKey: text('OPENAI_API_KEY', 'Key for OpenAI, or for any server that speaks its chat completions'),
  openaiUrl: text(
    'OPENAI_BASE_URL',
    'Where that server is reached; enough by itself for one that needs no key, such as a local Ollama',
    'https://api.openai.com/v1',
  ),
  openaiModel: text('CHAT_MODEL', 'Model for it', 'gpt-4.1'),
  anthropicKey: text('ANTHROPIC_API_KEY', 'Key for Anthropic'),
  anthropicUrl: text('ANTHROPIC_BASE_URL', 'Where Anthropic is reached', 'https://api.anthropic.com/v1'),
  anthropicModel: text('ANTHROPIC_MODEL', 'Model for Anthropic', 'claude-sonnet-4-5'),
}

type ValueOf<S> = S extends Setting<infer T> ? T : never
export type SettingName = keyof typeof SETTINGS
export type Settings = { readonly [K in SettingName]: ValueOf<(typeof SETTINGS)[K]> }

/** The variables that the choice of a provider looks at. */
export const PROVIDER_VARIABLES: readonly string[] = Object.values(SETTINGS)
  .map(({ env }) => env ?? '')
  .filter((env) => /^(?:OPENROUTER|OPENAI|ANTHROPIC|CHAT)_/.test(env))
