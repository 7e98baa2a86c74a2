/** Checks of what a project may reach: its ready-made tools, the tool servers of others, and what waits for a person. */
import { join } from 'node:path'
import { heldCounts } from '../../policy/index.ts'
import { readyMadeTools } from '../../runtime/index.ts'
import { configuredServers, exposedName, PIN_FILE, readPins, type UpstreamServer } from '../../upstream/index.ts'
import { readyMadeOf } from '../settings/tool-settings.ts'
import { configOf, counted, type Finding, ok, type Patient, projectOf, warning } from './doctor-rows.ts'

/** As the start of a server would: a folder that is missing, or a variable that is not set, keeps it from starting. */
export async function checkReadyMade(patient: Patient): Promise<Finding> {
  const config = configOf(patient)
  await readyMadeTools(readyMadeOf(config, config.headerVariables), patient.world)
  const { fileRoots, httpOrigins } = config
  if (fileRoots.length + httpOrigins.length === 0) return ok('off: no folder and no origin is configured')
  return ok(`${counted(fileRoots.length, 'folder')} and ${counted(httpOrigins.length, 'origin')} can be used`)
}

/** From the files alone: no server is started, and none is asked. */
export async function checkToolServers(patient: Patient): Promise<Finding> {
  const { world } = patient
  const { root, stateFolder } = projectOf(patient)
  const servers = await configuredServers(world, root)
  if (servers.length === 0) return ok('none: no tool server is configured')
  const items: string[] = []
  let pinned = 0
  let fresh = 0
  for (const server of servers) {
    const pins = Object.keys(await readPins(world, join(stateFolder, PIN_FILE), server.name))
    const exposed = server.expose === '*' ? pins : server.expose
    const known = exposed.filter((tool) => pins.includes(tool))
    pinned += known.length
    fresh += exposed.length - known.length
    const gone = pins.filter((tool) => !exposed.includes(tool)).map((tool) => exposedName(server.name, tool))
    if (gone.length > 0) items.push(`pinned, and not exposed any more: ${gone.join(', ')}`)
    const unset = variablesOf(server).filter((name) => (patient.variables[name] ?? '') === '')
    if (unset.length > 0) items.push(`"${server.name}" is to get variables that are not set: ${unset.join(', ')}`)
  }
  const found = [
    `${counted(servers.length, 'tool server')} configured`,
    ...(pinned > 0 ? [`${counted(pinned, 'exposed tool')} pinned`] : []),
    ...(fresh > 0 ? [`${counted(fresh, 'exposed tool is', 'exposed tools are')} not pinned yet`] : []),
  ].join('; ')
  if (items.length === 0) return ok(found)
  return warning(
    found,
    'Set what is missing; "symbi mcp pin" looks at the servers and lets go of what is not used',
    items,
  )
}

function variablesOf(server: UpstreamServer): readonly string[] {
  return server.transport === 'http' ? Object.values(server.headersEnv) : server.envFrom
}

export async function checkApprovals(patient: Patient): Promise<Finding> {
  const { pending, decided } = await heldCounts(patient.world, projectOf(patient).approvalFolder)
  if (pending + decided === 0) return ok('nothing waits for a person')
  const found = [
    ...(pending > 0 ? [`${counted(pending, 'call waits', 'calls wait')} for a person`] : []),
    ...(decided > 0 ? [`${counted(decided, 'decided call is', 'decided calls are')} not used yet`] : []),
  ].join(', ')
  return warning(
    found,
    'See them with "symbi approvals list". What a process left that has ended is never executed: the next start says that it expired',
  )
}
