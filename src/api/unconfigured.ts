/**
 * Partial APIs. An embedding or a test gives the methods it has; every other one answers `NOT_CONFIGURED` instead of being
 * missing, so that no adapter meets an undefined function and nobody mistakes "not offered" for "broken".
 */
import { Fault } from '../core/index.ts'
import {
  type CompleteRuntimeApi,
  METHOD_NAMES,
  OPTIONAL_METHOD_NAMES,
  type OptionalMethods,
  type RequiredMethods,
  type RuntimeApi,
  type RuntimeMethod,
} from './runtime-api.ts'

export function notConfigured(method: RuntimeMethod): Fault {
  const name = { ...METHOD_NAMES, ...OPTIONAL_METHOD_NAMES }[method]
  return new Fault('NOT_CONFIGURED', {
    message: `Cannot answer "${name}": no part of this runtime does that`,
    hint: 'Open the runtime with the part that offers it; nothing was changed by asking',
    facts: { method: name },
  })
}

/** The given methods, later ones over earlier, and `NOT_CONFIGURED` for every other. Optional ones keep their defaults. */
export function unconfiguredApi(...given: readonly Partial<RuntimeApi>[]): CompleteRuntimeApi {
  return withDefaults(Object.assign(refusing(namesOf(METHOD_NAMES)), ...given.map(bound)) as RuntimeApi)
}

/** The same API with every optional method present. */
export function withDefaults(api: RuntimeApi): CompleteRuntimeApi {
  const defaults: OptionalMethods = {
    ...refusing(['admitExecution', 'inspectRun', 'inspectCapacity']),
    listAgentsDetailed: async (signal) =>
      (await api.listAgents(signal)).map((id) => ({ id, name: id, state: 'Created' })),
    checkUnreachableAgents: async () => undefined,
  }
  return { ...defaults, ...(bound(api) as RequiredMethods) }
}

/** Own functions of an API that may be an instance of a class: its methods keep their `this`, private members included. */
function bound(api: Partial<RuntimeApi>): Partial<RuntimeApi> {
  const methods: Partial<Record<RuntimeMethod, unknown>> = {}
  for (const name of [...namesOf(METHOD_NAMES), ...namesOf(OPTIONAL_METHOD_NAMES)]) {
    const method = api[name]
    if (method !== undefined) methods[name] = method.bind(api)
  }
  return methods as Partial<RuntimeApi> // each member came from `api` under the same name
}

function refusing<K extends RuntimeMethod>(names: readonly K[]): Pick<CompleteRuntimeApi, K> {
  const methods: Partial<Record<K, () => Promise<never>>> = {}
  for (const name of names) methods[name] = () => Promise.reject(notConfigured(name))
  return methods as unknown as Pick<CompleteRuntimeApi, K> // a rejection fits every return type
}

function namesOf<T extends object>(table: T): readonly (keyof T)[] {
  return Object.keys(table) as (keyof T)[]
}
