import { createHash } from 'node:crypto'
import { z } from 'zod'

const Json = z.record(z.string(), z.unknown())
const Part = z.strictObject({
  text: z.string().min(1).optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().min(1).optional(),
  inlineData: z.strictObject({ mimeType: z.string().min(1), data: z.base64().min(1) }).optional(),
  fileData: z.strictObject({ mimeType: z.string().optional(), fileUri: z.url() }).optional(),
  functionCall: z
    .strictObject({ id: z.string().optional(), name: z.string().min(1), args: Json.optional() })
    .optional(),
  functionResponse: z.strictObject({ id: z.string().optional(), name: z.string().min(1), response: Json }).optional(),
})
const Content = z.strictObject({ role: z.enum(['user', 'model']), parts: z.array(Part).min(1) })
const FunctionName = z.string().regex(/^[A-Za-z_][\w.:-]{0,127}$/, 'invalid function name')

/** The body's schema. It refuses unknown members, because that protocol does. */
const BodySchema = z.strictObject({
  contents: z.array(Content).min(1, 'contents is not specified'),
  systemInstruction: z.strictObject({ role: z.string().optional(), parts: z.array(Part).min(1) }).optional(),
  tools: z
    .array(
      z.strictObject({
        functionDeclarations: z
          .array(
            z.strictObject({
              name: FunctionName,
              description: z.string().optional(),
              parameters: Json.optional(),
              parametersJsonSchema: Json.optional(),
            }),
          )
          .optional(),
      }),
    )
    .optional(),
  toolConfig: z
    .strictObject({
      functionCallingConfig: z.strictObject({
        mode: z.enum(['AUTO', 'ANY', 'NONE', 'VALIDATED']),
        allowedFunctionNames: z.array(FunctionName).optional(),
      }),
    })
    .optional(),
  generationConfig: z
    .strictObject({
      maxOutputTokens: z.int().positive().optional(),
      temperature: z.number().min(0).max(2).optional(),
      topP: z.number().min(0).max(1).optional(),
      topK: z.number().optional(),
      seed: z.int().min(-2_147_483_648).max(2_147_483_647).optional(),
      presencePenalty: z.number().min(-2).max(2).optional(),
      frequencyPenalty: z.number().min(-2).max(2).optional(),
      stopSequences: z.array(z.string().min(1)).max(5).optional(),
      responseMimeType: z.enum(['text/plain', 'application/json']).optional(),
      responseJsonSchema: Json.optional(),
      responseModalities: z.array(z.enum(['TEXT', 'IMAGE', 'AUDIO'])).optional(),
      imageConfig: z.strictObject({ aspectRatio: z.string().optional(), imageSize: z.string().optional() }).optional(),
      thinkingConfig: z
        .strictObject({
          includeThoughts: z.boolean().optional(),
          thinkingBudget: z.int().min(-1).max(32_768).optional(),
          thinkingLevel: z.enum(['MINIMAL', 'LOW', 'MEDIUM', 'HIGH']).optional(),
        })
        .optional(),
    })
    .optional(),
  serviceTier: z.enum(['unspecified', 'standard', 'flex', 'priority']).optional(),
})
type Body = z.infer<typeof BodySchema>
type Turn = z.infer<typeof Content>

/** The signature that replaces those of other makers. */
const UNSIGNED = 'skip_thought_signature_validator'

/** The signature that the sample provider gives to a call. */
export function signatureOf(name: string, args: unknown): string {
  return createHash('sha256')
    .update(`${name}\n${JSON.stringify(args)}`)
    .digest('base64')
}

/** True for a model that signs its calls and refuses them without their signatures. */
export function signsCalls(model: string): boolean {
  return /(?:^|\/)gemini-[3-9]/.test(model)
}

/**
 * Reads a request of Gemini's own protocol and returns the same request as a chat, which behaviours know. Returns a
 * text with the reason for an invalid request.
 */
export function chatOfGemini(
  model: string,
  body: unknown,
  isStream: boolean,
): Readonly<Record<string, unknown>> | string {
  const parsed = BodySchema.safeParse(body)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return `Invalid value at '${issue?.path.join('.') ?? ''}': ${issue?.message ?? 'invalid'}`
  }
  const { data } = parsed
  const fault = configFault(model, data) ?? callsFault(model, data.contents)
  return fault ?? chatOf(model, data, isStream)
}

function chatOf(model: string, body: Body, isStream: boolean): Readonly<Record<string, unknown>> {
  const { contents, systemInstruction, generationConfig: config = {}, toolConfig } = body
  const declarations = (body.tools ?? []).flatMap(({ functionDeclarations: declared }) => declared ?? [])
  const system = (systemInstruction?.parts ?? []).map(({ text }) => text ?? '').join('\n')
  return {
    model,
    max_tokens: config.maxOutputTokens,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...contents.flatMap(chatMessages)],
    stream: isStream,
    stream_options: { include_usage: true },
    stop: config.stopSequences,
    ...(declarations.length > 0 && {
      tools: declarations.map(({ name, parametersJsonSchema, parameters }) => ({
        type: 'function',
        function: { name, parameters: parametersJsonSchema ?? parameters },
      })),
      tool_choice: choiceOf(toolConfig?.functionCallingConfig),
    }),
    reasoning_effort: config.thinkingConfig?.includeThoughts === true ? 'medium' : undefined,
    response_format: formatOf(config),
  }
}

/** The faults of a request that its schema does not see, in the provider's wording. */
function configFault(
  model: string,
  { generationConfig: config = {}, tools = [], toolConfig }: Body,
): string | undefined {
  const { thinkingBudget, thinkingLevel } = config.thinkingConfig ?? {}
  if (thinkingBudget !== undefined && thinkingLevel !== undefined) {
    return 'You can only set only one of thinking budget and thinking level.'
  }
  const isNew = signsCalls(model)
  if (thinkingLevel !== undefined && !isNew) return 'Thinking level is not supported for this model.'
  if (thinkingBudget !== undefined && isNew) return 'Thinking budget is not supported for this model.'
  const hasFunctions = tools.some(({ functionDeclarations: declared = [] }) => declared.length > 0)
  if (toolConfig !== undefined && !hasFunctions) return 'Function calling config is set without function_declarations.'
  if (hasFunctions && config.responseMimeType === 'application/json' && !isNew) {
    return "Function calling with a response mime type: 'application/json' is unsupported"
  }
  return undefined
}

/** The faults of calls and their results: their numbers, and the signatures of the steps since the user's last turn. */
function callsFault(model: string, contents: readonly Turn[]): string | undefined {
  const spokenAt = contents.findLastIndex(({ role, parts }) => role === 'user' && parts.some(isSpoken))
  for (const [index, { role, parts }] of contents.entries()) {
    const calls = parts.filter(({ functionCall }) => functionCall !== undefined)
    const next = contents[index + 1]?.parts.filter(({ functionResponse }) => functionResponse !== undefined) ?? []
    if (calls.length > 0 && (role !== 'model' || next.length !== calls.length)) {
      return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
    }
    const [first] = calls
    if (first?.functionCall === undefined || !signsCalls(model) || index < spokenAt) continue
    const { name, args } = first.functionCall
    if (first.thoughtSignature === undefined) return missingSignature(name, index)
    if (![UNSIGNED, signatureOf(name, args ?? {})].includes(first.thoughtSignature)) {
      return 'Thought signature is not valid.'
    }
  }
  return undefined
}

function isSpoken({ functionResponse }: Turn['parts'][number]): boolean {
  return functionResponse === undefined
}

function missingSignature(name: string, index: number): string {
  return (
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, ' +
    'and missing thought_signature may lead to degraded model performance. Additional data, function call ' +
    `\`default_api:${name}\` , position ${index + 1}. Please refer to ` +
    'https://ai.google.dev/gemini-api/docs/thought-signatures for more details.'
  )
}

function chatMessages({ role, parts }: Turn): object[] {
  if (role === 'model') return [modelMessage(parts)]
  const results = parts.flatMap(({ functionResponse: result }) =>
    result === undefined ? [] : [{ role: 'tool', content: JSON.stringify(result.response) }],
  )
  const contentParts = parts.flatMap(({ text, inlineData, fileData }) => {
    if (text !== undefined) return [{ type: 'text', text }]
    return (inlineData ?? fileData) === undefined ? [] : [{ type: 'image_url' }]
  })
  return contentParts.length === 0 ? results : [{ role: 'user', content: contentParts }, ...results]
}

function modelMessage(parts: Turn['parts']): object {
  const calls = parts.flatMap(({ functionCall: call, thoughtSignature: signature }) => {
    if (call === undefined) return []
    const extra = signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }
    return [{ type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args ?? {}) }, ...extra }]
  })
  const content = parts.map(({ text, thought }) => (thought === true ? '' : (text ?? ''))).join('')
  return { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) }
}

type CallingConfig = NonNullable<Body['toolConfig']>['functionCallingConfig']

function choiceOf(config: CallingConfig | undefined): unknown {
  const [only] = config?.allowedFunctionNames ?? []
  if (config?.mode === 'ANY') return only === undefined ? 'required' : { type: 'function', function: { name: only } }
  return config?.mode === 'NONE' ? 'none' : 'auto'
}

function formatOf({
  responseMimeType: type,
  responseJsonSchema: schema,
}: NonNullable<Body['generationConfig']>): unknown {
  if (type !== 'application/json') return undefined
  return schema === undefined
    ? { type: 'json_object' }
    : { type: 'json_schema', json_schema: { name: 'answer', schema } }
}
