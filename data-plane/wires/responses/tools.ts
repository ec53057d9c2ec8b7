import { flagOf, wordOf } from '#data-plane/wires/sampling.ts'
import type { AppError } from '#shared/errors.ts'
import { invalidMember } from '#shared/invalid-member.ts'
import { isRecord } from '#shared/json-members.ts'
import type { FunctionTool, ToolChoice, ToolOrigin, ToolOrigins } from '#shared/protocols/middle-form/conversation.ts'
import { customAsFunction, grammarOf, sellerName } from '#shared/protocols/middle-form/tool-origin.ts'

/** The most tools of a request, with those inside namespaces. */
const MAX_TOOLS = 512
/** The search among a buyer's own tools, and the name of its function. */
export const SEARCH = 'tool_search'

type Json = Readonly<Record<string, unknown>>

/** The tools of a request that can be called here: functions, custom tools, and namespaces of both. */
export type Tools = {
  readonly tools: readonly FunctionTool[]
  readonly origins: ToolOrigins
  /** The original tools, without those that run elsewhere. */
  readonly kept: readonly Json[]
  readonly adaptedParams: readonly string[]
}

type Reading = {
  readonly tools: FunctionTool[]
  readonly origins: Map<string, ToolOrigin>
  readonly kept: Json[]
  readonly adapted: Set<string>
  /** Tools so far, including those inside namespaces and left-out ones. */
  count: number
  /** The names of tools so far, once those of the input are parsed. */
  knownNames: Set<string> | undefined
}

function tooMany(): AppError {
  return invalidMember('tools', `A request has at most ${MAX_TOOLS} tools.`)
}

/**
 * Parses `tools`, which is known to be a list of objects with types, or absent, and tools that items of the input have
 * added since. A repeat among the latter has no effect. Throws `invalid_request`.
 */
export function readTools(value: unknown, addedTools: readonly unknown[]): Tools {
  const reading: Reading = {
    tools: [],
    origins: new Map(),
    kept: [],
    adapted: new Set(),
    count: 0,
    knownNames: undefined,
  }
  const list = Array.isArray(value) ? value.filter(isRecord) : []
  if (list.length + addedTools.length > MAX_TOOLS) throw tooMany()
  for (const [index, tool] of list.entries()) readTool(reading, tool, `tools[${index}]`)
  checkNames(reading)
  if (addedTools.length > 0) reading.knownNames = new Set(reading.tools.map(({ name }) => name))
  for (const tool of addedTools) if (isRecord(tool)) readTool(reading, tool, 'input')
  const { tools, origins, kept, adapted } = reading
  return { tools, origins, kept, adaptedParams: [...adapted] }
}

function readTool(reading: Reading, tool: Json, param: string): void {
  const type = wordOf(tool['type']) ?? ''
  if (type === 'namespace') {
    readNamespace(reading, tool, param)
    reading.kept.push(tool)
  } else if (type === 'function' || type === 'custom') {
    addTool(reading, { tool, param, namespace: undefined })
    reading.kept.push(tool)
  } else if (type === SEARCH && tool['execution'] === 'client') {
    // The buyer runs it like any function.
    addFunction(reading, functionTool(tool, SEARCH, param), { name: SEARCH, isCustom: false, isSearch: true })
    reading.kept.push(tool)
  } else leaveOut(reading, type)
}

/** Names a tool that never runs here, by its kind. */
function leaveOut({ adapted }: Reading, type: string): void {
  adapted.add('tools')
  adapted.add(`tools.${type}`)
}

function readNamespace(reading: Reading, group: Json, param: string): void {
  const namespace = nameOf(group, param)
  const inner = group['tools']
  if (!Array.isArray(inner)) throw invalidMember(`${param}.tools`, 'A namespace needs tools.')
  reading.count += inner.length
  if (reading.count > MAX_TOOLS) throw tooMany()
  reading.adapted.add('tools.namespace')
  for (const [index, tool] of inner.entries()) {
    const at = `${param}.tools[${index}]`
    if (!isRecord(tool)) throw invalidMember(at, 'A tool must be an object.')
    const { type } = tool
    if (type === 'function' || type === 'custom') addTool(reading, { tool, param: at, namespace })
    else leaveOut(reading, wordOf(type) ?? '')
  }
}

type ToolEntry = { readonly tool: Json; readonly param: string; readonly namespace: string | undefined }

function addTool(reading: Reading, { tool, param, namespace }: ToolEntry): void {
  const { adapted } = reading
  const name = nameOf(tool, param)
  const isCustom = tool['type'] === 'custom'
  const flat = functionName(name, namespace)
  if (isCustom) adapted.add('tools.custom')
  if (isCustom && grammarOf(tool['format']) !== undefined) adapted.add('tools.format')
  const saidFunctionTool = isCustom ? customTool(tool, flat) : functionTool(tool, flat, param)
  const isPlain = !isCustom && flat === name
  if (namespace === undefined && flat !== name) adapted.add('tools.name')
  addFunction(
    reading,
    saidFunctionTool,
    isPlain
      ? undefined
      : {
          name,
          isCustom,
          ...(isCustom && { custom: { description: wordOf(tool['description']), format: tool['format'] } }),
          ...(namespace === undefined ? {} : { namespace }),
        },
  )
}

function addFunction(
  { tools, origins, knownNames }: Reading,
  tool: FunctionTool,
  origin: ToolOrigin | undefined,
): void {
  const { name } = tool
  if (knownNames?.has(name)) return
  knownNames?.add(name)
  tools.push(tool)
  if (origin === undefined) return
  if (origins.has(name)) throw invalidMember('tools', 'Two tools have the same name.')
  origins.set(name, origin)
}

/** The names under which sellers know tools that a search found. */
export function foundNames(tools: readonly unknown[]): readonly string[] {
  return tools.filter(isRecord).flatMap((tool) => {
    const name = wordOf(tool['name'])
    const inner = tool['type'] === 'namespace' && Array.isArray(tool['tools']) ? tool['tools'].filter(isRecord) : [tool]
    return inner.flatMap((one) => {
      const own = wordOf(one['name'])
      return own === undefined ? [] : [functionName(own, one === tool ? undefined : name)]
    })
  })
}

/** A call is matched by its function's name, so a tool in the form of a function shares its name with no other tool. */
function checkNames({ tools, origins }: Reading): void {
  if (origins.size === 0) return
  const names = new Set<string>()
  for (const { name } of tools) {
    if (names.has(name) && origins.has(name)) throw invalidMember('tools', 'Two tools have the same name.')
    names.add(name)
  }
}

/** The name under which sellers know a tool. */
export function functionName(name: string, namespace: string | undefined): string {
  if (namespace === undefined) return sellerName(name)
  return sellerName(namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`)
}

function nameOf(tool: Json, param: string): string {
  const name = wordOf(tool['name'])
  if (name === undefined) throw invalidMember(`${param}.name`, 'A tool needs a name.')
  return name
}

function customTool(tool: Json, name: string): FunctionTool {
  return customAsFunction({ name, description: wordOf(tool['description']), format: tool['format'] })
}

function functionTool(tool: Json, name: string, param: string): FunctionTool {
  const schema = tool['parameters']
  if (schema !== undefined && schema !== null && !isRecord(schema)) {
    throw invalidMember(`${param}.parameters`, 'The parameters of a function must be a JSON schema.')
  }
  const isStrict = flagOf(tool['strict'])
  return {
    name,
    description: wordOf(tool['description']),
    schema: isRecord(schema) ? schema : { type: 'object', properties: {} },
    ...(isStrict === undefined ? {} : { isStrict }),
  }
}

/** The tools that may be called, and whether one must be. */
export type AllowedTools = {
  readonly tools: readonly FunctionTool[]
  readonly toolChoice: ToolChoice | undefined
  readonly isAdapted: boolean
}

const WORDS = ['auto', 'none', 'required'] as const

/** Parses `tool_choice` in all its forms. Throws `invalid_request`, also for a missing tool. */
export function readToolChoice(choice: unknown, given: Pick<Tools, 'tools' | 'origins'>): AllowedTools {
  const { tools } = given
  if (choice === undefined || choice === null) return { tools, toolChoice: undefined, isAdapted: false }
  const word = WORDS.find((known) => known === choice)
  if (word !== undefined) return { tools, toolChoice: word, isAdapted: false }
  if (!isRecord(choice))
    throw invalidMember('tool_choice', 'tool_choice must be "auto", "none", "required" or an object.')
  if (choice['type'] === 'function' || choice['type'] === 'custom') {
    const chosen = tools.find((tool) => isNamed(choice, tool, given.origins))
    if (chosen === undefined)
      throw invalidMember('tool_choice', 'tool_choice names a tool that is not among the tools.')
    return { tools, toolChoice: { name: chosen.name }, isAdapted: false }
  }
  if (choice['type'] === 'allowed_tools') return readAllowed(choice, given)
  // A tool that never runs here cannot be the one that must be called.
  return { tools, toolChoice: undefined, isAdapted: true }
}

/** True when a choice means the tool, or its namespace. */
function isNamed({ type, name, namespace }: Json, tool: FunctionTool, origins: ToolOrigins): boolean {
  const origin = origins.get(tool.name)
  if (type === 'namespace') return origin?.namespace !== undefined && origin.namespace === name
  if ((type === 'custom') !== (origin?.isCustom === true)) return false
  if (typeof namespace === 'string' && namespace !== origin?.namespace) return false
  return name === tool.name || name === origin?.name
}

function readAllowed(choice: Json, { tools, origins }: Pick<Tools, 'tools' | 'origins'>): AllowedTools {
  const list = choice['tools']
  if (!Array.isArray(list) || list.length > MAX_TOOLS) {
    throw invalidMember('tool_choice.tools', `tool_choice.tools must be a list of up to ${MAX_TOOLS} tools.`)
  }
  const allowedList = list.filter(isRecord)
  return {
    tools: tools.filter((tool) => allowedList.some((entry) => isNamed(entry, tool, origins))),
    toolChoice: choice['mode'] === 'required' ? 'required' : 'auto',
    isAdapted: false,
  }
}
