import type { ReplyTranslation } from './translated-reply.ts'

const PREFIX = '/openai'
const OF_DEPLOYMENT = /^\/openai\/deployments\/([^/]{1,200})(\/.{1,200})$/
const VERSION = /^\d{4}-\d{2}-\d{2}(?:-preview)?$/
/** Words that make the content filter refuse a prompt. */
const FILTERED = /\bplease filter this\b/i
const SAFE = { hate: { filtered: false, severity: 'safe' }, violence: { filtered: false, severity: 'safe' } }
const PROMPT_RESULTS = [{ prompt_index: 0, content_filter_results: SAFE }]

/** The model that a deployment runs: the name of the deployment without `our-` in front. */
export function deployedModel(deployment: string): string {
  return deployment.replace(/^our-/, '')
}

/** A call to a resource of Azure. */
export type AzurePlace = {
  /** The path that the call has at OpenAI. */
  readonly path: string
  /** The deployment in the address. Undefined where the body names it. */
  readonly deployment: string | undefined
}

/**
 * Reads the address of a resource of Azure. Undefined for any other. Without an API version a deployment has no paths.
 */
export function readAzurePlace(url: string): AzurePlace | undefined {
  const { pathname, searchParams } = new URL(url, 'http://resource')
  if (pathname.startsWith(`${PREFIX}/v1/`)) return { path: pathname.slice(PREFIX.length), deployment: undefined }
  const [, name, rest] = OF_DEPLOYMENT.exec(pathname) ?? []
  if (name === undefined) return undefined
  const hasVersion = VERSION.test(searchParams.get('api-version') ?? '')
  return { path: hasVersion ? `/v1${rest}` : '', deployment: decodeURIComponent(name) }
}

/** The refusals of Azure, in its form. */
export const AZURE_ERRORS = {
  key: {
    error: {
      code: '401',
      message:
        'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
    },
  },
  deployment: {
    error: {
      code: 'DeploymentNotFound',
      message:
        'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
    },
  },
  operation: {
    error: {
      code: 'OperationNotSupported',
      message:
        'The chatCompletion operation does not work with the specified model. Please choose different model and try again.',
    },
  },
  resource: { error: { code: '404', message: 'Resource not found' } },
  filter: {
    error: {
      message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      type: null,
      param: 'prompt',
      code: 'content_filter',
      status: 400,
      innererror: {
        code: 'ResponsibleAIPolicyViolation',
        content_filter_result: { ...SAFE, violence: { filtered: true, severity: 'high' } },
      },
    },
  },
} as const

/** True for a prompt that the content filter refuses. */
export function isFiltered(body: unknown): boolean {
  return FILTERED.test(JSON.stringify(body ?? null))
}

/** The translation of chats to those of Azure: the results of its content filter are added to every choice. */
export const azureChats: ReplyTranslation = {
  whole: (body) => withResults(body, { prompt_filter_results: PROMPT_RESULTS }),
  events() {
    let isFirst = true
    return (data) => {
      if (data === '[DONE]') return `${frame(LATE)}data: [DONE]\n\n`
      const before = isFirst ? frame({ ...EMPTY, choices: [], prompt_filter_results: PROMPT_RESULTS }) : ''
      isFirst = false
      return before + frame(withResults(JSON.parse(data)))
    }
  },
}

const EMPTY = { id: '', object: '', created: 0, model: '' }
/** An annotation of text that was already sent, as Azure’s asynchronous filter adds it. */
const LATE = {
  ...EMPTY,
  choices: [
    {
      index: 0,
      finish_reason: null,
      content_filter_results: SAFE,
      content_filter_offsets: { check_offset: 0, start_offset: 0, end_offset: 9 },
    },
  ],
}

function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function withResults(body: unknown, members: object = {}): unknown {
  if (typeof body !== 'object' || body === null || !('choices' in body) || !Array.isArray(body.choices)) return body
  const choices = body.choices.map((choice: object) => ({ ...choice, content_filter_results: SAFE }))
  return { ...body, ...members, choices }
}
