/** The environment that tool servers are given names from: ours, and beneath it what `.env` may hold. */
import type { World } from '../../world/index.ts'
import type { Cli } from '../cli.ts'
import { readEnvFile } from '../project/project-files.ts'

type Variables = Readonly<Record<string, string | undefined>>

export async function toolServerVariables(
  { world, env }: { world: World } & Pick<Cli, 'env'>,
  root: string,
): Promise<Variables> {
  const { variables } = await readEnvFile(world, root)
  const keys = Object.entries(variables).filter(([name]) => name.endsWith('_API_KEY')) // the others are not for servers
  return { ...Object.fromEntries(keys), ...env }
}
