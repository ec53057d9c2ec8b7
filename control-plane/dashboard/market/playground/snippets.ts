import { callCurlOf } from '#control-plane/dashboard/data/curl.ts'
import type { ApiCall } from './call-of.ts'

/** The longest text of a body that a snippet shows in full, in characters. A longer text is data. */
const MAX_DATA_CHARS = 120
const KEY = 'MARKET_KEY'

export const LANGUAGES = ['curl', 'Python', 'TypeScript'] as const
export type Language = (typeof LANGUAGES)[number]

/** A call as a program in a language. It reads its key from the environment. */
export function snippetOf(language: Language, url: string, { path, body }: ApiCall): string {
  const call = { path, body: shortened(body) }
  return WRITERS[language](url, call)
}

type Shown = { readonly path: string; readonly body: unknown }

const WRITERS: { readonly [Name in Language]: (url: string, call: Shown) => string } = {
  curl: (url, { path, body }) => callCurlOf(url + path, JSON.stringify(body, null, 2), `$${KEY}`),
  Python: pythonOf,
  TypeScript: typeScriptOf,
}

const CHAT = '/v1/chat/completions'
const IMAGE = '/v1/images/generations'
const SPEECH = '/v1/audio/speech'

function pythonOf(url: string, { path, body }: Shown): string {
  const head = `import os\nfrom openai import OpenAI\n\nclient = OpenAI(base_url="${url}/v1", api_key=os.environ["${KEY}"])\n`
  const { own, extra } = partsOf(path, body)
  const members = [
    ...Object.entries(own).map(([name, value]) => `${name}=${indented(pythonValue(value))}`),
    ...(Object.keys(extra).length === 0 ? [] : [`extra_body=${indented(pythonValue(extra))}`]),
  ]
  const call = (name: string) => `${name}(\n${members.map((member) => `    ${member},\n`).join('')})`
  if (path === CHAT) {
    return `${head}stream = ${call('client.chat.completions.create')}\nfor chunk in stream:\n    for choice in chunk.choices:\n        print(choice.delta.content or "", end="")\n`
  }
  if (path === IMAGE) {
    return `import base64\n${head}image = ${call('client.images.generate')}\nopen("image.png", "wb").write(base64.b64decode(image.data[0].b64_json))\n`
  }
  if (path === SPEECH)
    return `${head}speech = ${call('client.audio.speech.create')}\nspeech.write_to_file("speech.mp3")\n`
  return `${head}job = client.post(\n    "${path.replace('/v1', '')}",\n    body=${indented(pythonValue(body))},\n    cast_to=object,\n)\nprint(job)\n`
}

function typeScriptOf(url: string, { path, body }: Shown): string {
  const head = `import { env, stdout } from 'node:process'\nimport OpenAI from 'openai'\n\nconst client = new OpenAI({ baseURL: '${url}/v1', apiKey: env['${KEY}'] })\n`
  const { own, extra } = partsOf(path, body)
  const members = JSON.stringify(own, null, 2)
  // The types of the client lack these members, but the client sends them.
  const more = Object.keys(extra).length === 0 ? '' : `,\n  ...(${JSON.stringify(extra)} as object)\n}`
  const json = more === '' ? members : members.replace(/\n}$/, more)
  const withFiles = `import { writeFileSync } from 'node:fs'\n${head.replace(', stdout', '')}`
  if (path === CHAT) {
    return `${head}const stream = await client.chat.completions.create(${json})\nfor await (const { choices } of stream) stdout.write(choices[0]?.delta.content ?? '')\n`
  }
  if (path === IMAGE) {
    return `${withFiles}const { data } = await client.images.generate(${json})\nwriteFileSync('image.png', Buffer.from(data?.[0]?.b64_json ?? '', 'base64'))\n`
  }
  if (path === SPEECH) {
    return `${withFiles}const speech = await client.audio.speech.create(${json})\nwriteFileSync('speech.mp3', Buffer.from(await speech.arrayBuffer()))\n`
  }
  return `${head.replace(', stdout', '')}console.log(await client.post('${path.replace('/v1', '')}', { body: ${json} }))\n`
}

/** Members that the official clients have no parameter for. */
const EXTRA: Readonly<Record<string, readonly string[]>> = {
  [CHAT]: ['provider'],
  [IMAGE]: ['provider', 'images'],
  [SPEECH]: ['provider'],
}

function partsOf(path: string, body: unknown) {
  const members = typeof body === 'object' && body !== null ? Object.entries(body) : []
  const isExtra = (name: string) => EXTRA[path]?.includes(name) === true
  return {
    own: Object.fromEntries(members.filter(([name]) => !isExtra(name))),
    extra: Object.fromEntries(members.filter(([name]) => isExtra(name))),
  }
}

/** A JSON value in Python. Texts of both languages are written alike. */
function pythonValue(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${pythonValue(inner)}`)
  return `{${members.join(', ')}}`
}

const indented = (text: string) => text.replaceAll('\n', '\n    ')

/** The same with the data of pictures cut short, so that the program can be read. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.startsWith('data:') && value.length > MAX_DATA_CHARS ? `${value.slice(0, 40)}…` : value
  }
  if (Array.isArray(value)) return value.map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shortened(inner)]))
}
