/** `symbi init`: a project that runs as it is. It asks nothing, so it does the same in a terminal and in a script. */
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { assert, Fault } from '../../core/index.ts'
import { projectAt } from '../../runtime/index.ts'
import { addCommand, type Cli, type CommonOptions, type ExitCode } from '../cli.ts'
import { near, typed } from '../typed.ts'
import { PROFILES, type Profile } from './init-profiles.ts'
import { CHAT_KEY, makeProject } from './init-project.ts'

interface InitOptions {
  readonly force?: true
  readonly interact: boolean
  readonly profile: string
}

const PROFILES_LATER = ['dev-agent', 'import']

const NAMES = [...PROFILES.keys()].join(', ')

export function register(program: Command, cli: Cli, exit: ExitCode): void {
  addCommand<InitOptions>(program, exit, {
    name: 'init',
    summary: 'make a project: settings, least-privilege policies, a key to chat with, a demo model',
    options: [
      new Option('--force', 'write settings and demo model again; policies, keys and evidence stay as they are'),
      new Option('--no-interact', 'for scripts: suggest nothing, and ask nothing, which init never does'),
      new Option('--profile <name>', `what the project starts with: ${NAMES}`).default('minimal'),
    ],
    action: (options) => init(cli, options),
  })
}

async function init({ world, console }: Cli, options: InitOptions & CommonOptions): Promise<number> {
  const profile = profileOf(options.profile)
  await world.files.mkdir(options.project, 0o755)
  const root = await world.files.realpath(options.project)
  assert(root !== null, 'a folder that was made is there')
  const project = projectAt(root)
  const { written, kept } = await makeProject(world, project, { profile, force: options.force === true })
  const keyId = written.includes('.symbiont/api-keys.json') ? CHAT_KEY : null
  if (options.json) {
    const token_file = keyId === null ? null : project.chatTokenFile
    console.result(
      JSON.stringify({ project: root, profile: options.profile, written, kept, key_id: keyId, token_file }),
    )
    return 0
  }
  const place = near(root)
  console.result(`Made the project ${place}`)
  for (const name of written) console.result(`  ${console.paint('green', 'wrote')} ${join(place, name)}`)
  for (const name of kept) console.result(`  ${console.paint('dim', 'kept ')} ${join(place, name)}`)
  if (keyId !== null) console.result(`The token of key "${keyId}" is in ${near(project.chatTokenFile)}, for you alone`)
  const lacking = FOLDERS_OF_PROFILES.filter((name) => kept.includes(name))
  if (options.profile !== 'minimal' && lacking.length > 0) {
    console.note(`Nothing of profile "${options.profile}" was added to what was there: ${lacking.join(', ')}`)
  }
  if (!options.interact) return 0
  const where = place === '.' ? [] : ['--project', place]
  console.note(`Start it with: ${typed('up', ...where)}`)
  if (profile.tryOut !== null && lacking.length === 0) {
    const [command, ...words] = profile.tryOut.words
    console.note(`${profile.tryOut.says}: ${typed(command, ...where, ...words)}`)
  }
  return 0
}

/** What an existing project may have of its own, so that the profile does not add to it. */
const FOLDERS_OF_PROFILES = ['policies/', 'agents/'] as const

function profileOf(name: string): Profile {
  const profile = PROFILES.get(name)
  if (profile !== undefined) return profile
  const isLater = PROFILES_LATER.includes(name)
  throw new Fault('USAGE', {
    message: `Cannot make a project with profile ${JSON.stringify(name.slice(0, 40))}: ${
      isLater ? 'this version does not have it yet' : 'it is not known'
    }`,
    hint: `Use one of ${NAMES}, and add what you need to the project`,
  })
}
