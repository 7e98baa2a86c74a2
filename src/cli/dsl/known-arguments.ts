/** Which arguments the tools of this runtime take, as far as their schemas say all of them: configured or not, they are the same. */
import { unconfiguredApi } from '../../api/index.ts'
import { isJsonObject } from '../../core/index.ts'
import type { KnownArguments } from '../../dsl/index.ts'
import type { ToolDefinition } from '../../events/index.ts'
import { fileTools, httpRequestTool, monitoringTools } from '../../tools/index.ts'
import type { World } from '../../world/index.ts'

/** Makes the tools for their schemas alone: nothing of them is run. */
export function knownArguments(world: World): KnownArguments {
  const tools = [
    ...monitoringTools(unconfiguredApi({})),
    ...fileTools([{ name: 'any', path: '/' }], world),
    httpRequestTool(['https://example.org'], world),
  ]
  return new Map(tools.flatMap(({ definition }) => argumentsOf(definition)))
}

/** Preparation refuses what a schema does not name, unless it names nothing. */
function argumentsOf({ name, parameters }: ToolDefinition): readonly (readonly [string, ReadonlySet<string>])[] {
  const { properties, additionalProperties } = parameters
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  return names.length > 0 || additionalProperties === false ? [[name, new Set(names)]] : []
}
