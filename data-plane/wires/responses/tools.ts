import { flagOf, wordOf } from '#data-plane/wires/sampling.ts'
import { isRecord } from '#shared/json-members.ts'
import type { FunctionTool, ToolChoice } from '#shared/protocols/middle-form/conversation.ts'
import { invalid } from './parameters.ts'

type Json = Readonly<Record<string, unknown>>

/** The tools of a request as far as they are functions. */
export type Tools = {
  readonly tools: readonly FunctionTool[]
  /** The functions as they were given; the others never run here and are left out. */
  readonly kept: readonly Json[]
  readonly isAdapted: boolean
}

/** Reads `tools`, which is known to be a list of objects with types, or absent. Throws `invalid_request`. */
export function readTools(given: unknown): Tools {
  const list = Array.isArray(given) ? given.filter(isRecord) : []
  const kept = list.filter(({ type }) => type === 'function')
  const tools = kept.map((tool) => functionTool(tool, `tools[${list.indexOf(tool)}]`))
  return { tools, kept, isAdapted: kept.length < list.length }
}

function functionTool(tool: Json, param: string): FunctionTool {
  const name = wordOf(tool['name'])
  if (name === undefined) throw invalid(`${param}.name`, 'A function has a name.')
  const schema = tool['parameters']
  if (schema !== undefined && schema !== null && !isRecord(schema)) {
    throw invalid(`${param}.parameters`, 'The parameters of a function are a JSON schema.')
  }
  const isStrict = flagOf(tool['strict'])
  return {
    name,
    description: wordOf(tool['description']),
    schema: isRecord(schema) ? schema : { type: 'object', properties: {} },
    ...(isStrict === undefined ? {} : { isStrict }),
  }
}

/** What may be called, and whether something must be. */
export type Choice = {
  readonly tools: readonly FunctionTool[]
  readonly toolChoice: ToolChoice | undefined
  readonly isAdapted: boolean
}

const WORDS = ['auto', 'none', 'required'] as const

/** Reads `tool_choice` in all its forms. Throws `invalid_request`, also for a function that is not there. */
export function readToolChoice(choice: unknown, tools: readonly FunctionTool[]): Choice {
  if (choice === undefined || choice === null) return { tools, toolChoice: undefined, isAdapted: false }
  const word = WORDS.find((known) => known === choice)
  if (word !== undefined) return { tools, toolChoice: word, isAdapted: false }
  if (!isRecord(choice)) throw invalid('tool_choice', 'tool_choice must be "auto", "none", "required" or an object.')
  if (choice['type'] === 'function') {
    const name = wordOf(choice['name'])
    if (name === undefined || !tools.some((tool) => tool.name === name)) {
      throw invalid('tool_choice', 'tool_choice names a function that is not among the tools.')
    }
    return { tools, toolChoice: { name }, isAdapted: false }
  }
  if (choice['type'] === 'allowed_tools') return readAllowed(choice, tools)
  // A tool that never runs here cannot be the one that must be called.
  return { tools, toolChoice: undefined, isAdapted: true }
}

function readAllowed(choice: Json, tools: readonly FunctionTool[]): Choice {
  const list = choice['tools']
  if (!Array.isArray(list)) throw invalid('tool_choice.tools', 'tool_choice.tools must be a list.')
  const names = new Set(list.map((tool) => (isRecord(tool) ? tool['name'] : undefined)))
  return {
    tools: tools.filter(({ name }) => names.has(name)),
    toolChoice: choice['mode'] === 'required' ? 'required' : 'auto',
    isAdapted: false,
  }
}
