/**
 * Which provider the settings ask for. Reads a record and never the environment, so that configuration is read once, by
 * whoever owns it.
 *
 * An explicit flag wins. Else the first API key that is set: OpenRouter, OpenAI, Anthropic. Else, a base URL for an
 * OpenAI-compatible server that needs no key. Else nothing is configured, and the answer is null.
 */
import { Fault } from '../core/index.ts'
import type { World } from '../world/index.ts'
import { ANTHROPIC_BASE_URL, anthropic } from './anthropic.ts'
import type { EndpointOptions } from './endpoint.ts'
import { OPENAI_BASE_URL, openAiCompatible } from './openai-compatible.ts'
import type { Provider } from './port.ts'
import { scripted } from './scripted.ts'

export type ProviderSettings = Readonly<Record<string, string | undefined>>

interface Vendor {
  readonly name: string
  readonly keySetting: string
  readonly baseUrlSetting: string
  readonly modelSetting: string
  readonly defaultBaseUrl: string
  readonly defaultModel: string
  readonly make: (options: EndpointOptions, world: World) => Provider
}

/** In the order in which their keys are looked for. */
const VENDORS: readonly Vendor[] = [
  {
    name: 'openrouter',
    keySetting: 'OPENROUTER_API_KEY',
    baseUrlSetting: 'OPENROUTER_BASE_URL',
    modelSetting: 'OPENROUTER_MODEL',
    defaultBaseUrl: 'https://openrouter.ai/api/v1',
    defaultModel: 'anthropic/claude-sonnet-4.5',
    make: openAiCompatible,
  },
  {
    name: 'openai',
    keySetting: 'OPENAI_API_KEY',
    baseUrlSetting: 'OPENAI_BASE_URL',
    modelSetting: 'CHAT_MODEL',
    defaultBaseUrl: OPENAI_BASE_URL,
    defaultModel: 'gpt-4.1',
    make: openAiCompatible,
  },
  {
    name: 'anthropic',
    keySetting: 'ANTHROPIC_API_KEY',
    baseUrlSetting: 'ANTHROPIC_BASE_URL',
    modelSetting: 'ANTHROPIC_MODEL',
    defaultBaseUrl: ANTHROPIC_BASE_URL,
    defaultModel: 'claude-sonnet-4-5',
    make: anthropic,
  },
]

/** `flag` is `scripted:FILE`, or a vendor and a model: `openai:MODEL`, `anthropic:MODEL`, `openrouter:MODEL`. */
export async function providerFromSettings(
  settings: ProviderSettings,
  flag: string | undefined,
  world: World,
): Promise<Provider | null> {
  if (flag !== undefined) return await flagged(flag, settings, world)
  const keyed = VENDORS.find((vendor) => given(settings, vendor.keySetting) !== undefined)
  if (keyed !== undefined) return made(keyed, settings, undefined, world)
  const keyless = VENDORS.find((vendor) => vendor.name === 'openai' && given(settings, vendor.baseUrlSetting))
  return keyless === undefined ? null : made(keyless, settings, undefined, world)
}

async function flagged(flag: string, settings: ProviderSettings, world: World): Promise<Provider> {
  const colon = flag.indexOf(':')
  const kind = flag.slice(0, Math.max(0, colon))
  const rest = flag.slice(colon + 1).trim()
  if (colon > 0 && rest !== '') {
    if (kind === 'scripted') return await scripted({ path: rest }, world)
    const vendor = VENDORS.find(({ name }) => name === kind)
    if (vendor !== undefined) return made(vendor, settings, rest, world)
  }
  throw new Fault('USAGE', {
    message: `Cannot use provider ${JSON.stringify(flag.slice(0, 80))}: it is not one of the known forms`,
    hint: 'Use scripted:FILE, openai:MODEL, anthropic:MODEL or openrouter:MODEL',
  })
}

function made(vendor: Vendor, settings: ProviderSettings, model: string | undefined, world: World): Provider {
  const apiKey = given(settings, vendor.keySetting)
  const baseUrl = given(settings, vendor.baseUrlSetting)
  if (apiKey === undefined && baseUrl === undefined) {
    throw new Fault('CONFIG_INVALID', {
      message: `Cannot use model provider "${vendor.name}": ${vendor.keySetting} is not set`,
      hint: `Set ${vendor.keySetting}, or ${vendor.baseUrlSetting} for a server that needs no key`,
    })
  }
  const options = {
    name: vendor.name,
    baseUrl: baseUrl ?? vendor.defaultBaseUrl,
    model: model ?? given(settings, vendor.modelSetting) ?? vendor.defaultModel,
    ...(apiKey === undefined ? {} : { apiKey }),
  }
  return vendor.make(options, world)
}

/** A setting that is blank counts as not set. */
function given(settings: ProviderSettings, name: string): string | undefined {
  const value = settings[name]?.trim()
  return value === '' ? undefined : value
}
