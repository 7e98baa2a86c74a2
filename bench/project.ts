/** A small project with a policy that permits the monitoring tools' health question and replies. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const POLICY = 'permit(principal, action in [Action::"tool_call::system_health", Action::"respond"], resource);\n'

export function chatProject(folder: string): string {
  mkdirSync(join(folder, '.symbiont'), { recursive: true, mode: 0o700 })
  mkdirSync(join(folder, 'policies'), { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'policies', 'chat.cedar'), POLICY, { mode: 0o600 })
  return folder
}
