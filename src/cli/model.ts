/** Which model the project talks to: the configured one, or the script that `symbi init` left, and never a silent guess. */
import { join } from 'node:path'
import { Fault } from '../core/index.ts'
import { type Provider, providerFromSettings } from '../providers/index.ts'
import type { Project } from '../runtime/index.ts'
import type { World } from '../world/index.ts'
import { DEMO_MODEL_FILE } from './init/init-demo-model.ts'
import type { Config } from './settings/config.ts'

export interface Model {
  readonly provider: Provider
  /** True where nobody configured a model and the project's script answers. */
  readonly isDemo: boolean
}

/** The configured provider, or the script of the project. */
export async function chooseModel(world: World, project: Project, config: Config): Promise<Model> {
  const configured = await providerFromSettings(config.providerVariables, config.provider ?? undefined, world)
  if (configured !== null) return { provider: configured, isDemo: false }
  const script = join(project.root, DEMO_MODEL_FILE)
  if ((await world.files.lstat(script)) === null) {
    throw new Fault('CONFIG_INVALID', {
      message: `Cannot choose a model: none is configured, and the project has no "${DEMO_MODEL_FILE}"`,
      hint: 'Give --provider, or set OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENROUTER_API_KEY',
    })
  }
  const demo = await providerFromSettings({}, `scripted:${script}`, world)
  if (demo === null) throw new Fault('CONFIG_INVALID', { message: 'Cannot choose a model: the script gave none' })
  return { provider: demo, isDemo: true }
}
