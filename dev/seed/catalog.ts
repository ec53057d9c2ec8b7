import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { CatalogItem, modelOf } from '#control-plane/services/catalog/catalog-items.ts'
import { SANDBOX_BEHAVIOUR_ENTRIES } from '#dev/provider/behaviours.ts'
import { SANDBOX_FILM_ENTRIES, SANDBOX_JOB_ENTRIES } from '#dev/provider/jobs.ts'
import type { Model } from '#shared/catalog/model.ts'
import type { SourceRole } from '#shared/clips.ts'
import { ANY_CLIP, SOURCE_ROLES } from '#shared/clips.ts'

const PriceSource = z.object({ url: z.url(), date: z.iso.date() })

/** Prices of media change often, so each of them says where it stands and on which day it was read. */
const Entry = CatalogItem.extend({ price_source: PriceSource.optional() }).refine(
  ({ unit_pricing: units, price_source: source }) => units === undefined || source !== undefined,
  'a price of media has its source and date',
)
const CatalogSchema = z.object({ source: z.string(), models: z.array(Entry).min(1) })

/** The seeded catalogue in the form of `catalog.import`. */
export type SeedCatalog = { readonly source: string; readonly models: CatalogItem[] }

/** Unix seconds. It is older than every real model, so that no listing by date begins with a sandbox model. */
const SANDBOX_CREATED = 1_577_836_800
const SANDBOX_CONTEXT = 131_072
const SANDBOX_OUTPUT = 16_384

/** Reads the real models first and the sandbox models last. Throws a ZodError when the file is malformed. */
export function readCatalog(): SeedCatalog {
  const text = readFileSync(new URL('./catalog.json', import.meta.url), 'utf8')
  const { source, models } = CatalogSchema.parse(JSON.parse(text))
  const items = models.map(({ price_source: _source, ...item }) => item)
  return { source, models: [...items, ...sandboxItems(), ...sandboxJobs(), ...sandboxFilms()] }
}

/** The models of a catalogue, without prices. */
export function modelsOf(catalog: SeedCatalog): readonly Model[] {
  return catalog.models.map(modelOf)
}

/** The free test models, one for each behaviour of the sample provider. */
function sandboxItems(): CatalogItem[] {
  return SANDBOX_BEHAVIOUR_ENTRIES.map(({ id, title, description }) => ({
    id,
    canonical: id,
    aliases: [],
    name: title,
    created: SANDBOX_CREATED,
    description,
    context_length: SANDBOX_CONTEXT,
    architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
    pricing: { prompt: '0', completion: '0' },
    top_provider: { max_completion_tokens: SANDBOX_OUTPUT },
    supported_parameters: [
      'temperature',
      'top_p',
      'max_tokens',
      'max_completion_tokens',
      'stop',
      'stream',
      'seed',
      'tools',
      'tool_choice',
      'response_format',
      'reasoning_effort',
      'encoding_format',
      'dimensions',
      'speed',
      'instructions',
      'language',
      'prompt',
      'timestamp_granularities',
      'size',
      'quality',
      'background',
      'output_format',
    ],
    supported_features: ['vision', 'reasoning', 'tools', 'streaming'],
    endpoints: ['chat', 'completions', 'embeddings', 'speech', 'transcription', 'image', 'image-edit'],
    unit_pricing: { images: '0', characters: '0', seconds: '0' },
  }))
}

/** The free test models of long jobs, at providers of OpenAI's protocol. */
function sandboxJobs(): CatalogItem[] {
  return SANDBOX_JOB_ENTRIES.map((entry) => jobItem(entry, 'video', ['start']))
}

/** The free test models at providers that have a queue. */
function sandboxFilms(): CatalogItem[] {
  return SANDBOX_FILM_ENTRIES.map(({ makes, ...entry }) =>
    jobItem(entry, makes, makes === 'video' ? [...SOURCE_ROLES] : []),
  )
}

type Entry = { readonly id: string; readonly title: string; readonly description: string }

function jobItem({ id, title, description }: Entry, makes: 'video' | 'music', roles: SourceRole[]): CatalogItem {
  return {
    id,
    canonical: id,
    aliases: [],
    name: title,
    created: SANDBOX_CREATED,
    description,
    context_length: SANDBOX_CONTEXT,
    architecture: {
      input_modalities: roles.length > 0 ? ['text', 'image'] : ['text'],
      output_modalities: [makes === 'video' ? 'video' : 'audio'],
    },
    pricing: { prompt: '0', completion: '0' },
    unit_pricing: { seconds: '0' },
    top_provider: {},
    supported_parameters: [],
    supported_features: [],
    endpoints: [makes],
    clip: { ...ANY_CLIP, roles },
  }
}
