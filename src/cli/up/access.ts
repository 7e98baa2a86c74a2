/** Who may connect to a server of the project, counted and not guessed. */
import { listKeys } from '../../access/index.ts'
import type { Project } from '../../runtime/index.ts'
import type { World } from '../../world/index.ts'
import type { Config } from '../settings/config.ts'

export interface Access {
  /** Keys in force. */
  readonly keys: number
  /** Whether the project's own chat token may be among them: its key file is the one in use. */
  readonly chatToken: boolean
  readonly legacyToken: boolean
}

export async function accessOf(world: World, project: Project, config: Config): Promise<Access> {
  const records = await listKeys(config.apiKeysFile ?? project.keyFile, world)
  const own = config.apiKeysFile === null || config.apiKeysFile === project.keyFile
  return {
    keys: records.filter(({ revoked }) => !revoked).length,
    chatToken: own && (await world.files.lstat(project.chatTokenFile)) !== null,
    legacyToken: config.legacyToken !== null && !config.refuseLegacyToken && records.length === 0,
  }
}
