/** A small project with a policy that permits the monitoring tools' health question and replies. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const POLICY = 'permit(principal, action in [Action::"tool_call::system_health", Action::"respond"], resource);\n'

/** A scripted model, so that a server of this project needs no other. */
export const MODEL = 'model.json'

export function chatProject(folder: string): string {
  mkdirSync(join(folder, '.symbiont'), { recursive: true, mode: 0o700 })
  mkdirSync(join(folder, 'policies'), { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'policies', 'chat.cedar'), POLICY, { mode: 0o600 })
  writeFileSync(
    join(folder, MODEL),
    JSON.stringify({ model: 'bench', rules: [{ when: {}, reply: { content: 'ok' } }] }),
  )
  return folder
}
