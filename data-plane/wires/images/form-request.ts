import type { RawRequest } from '#data-plane/call.ts'
import { refuseElsewhereInForm } from '#data-plane/wires/elsewhere.ts'
import type { Form, FormFile } from '#data-plane/wires/form.ts'
import { readForm } from '#data-plane/wires/form.ts'
import { mayStandIn } from '#data-plane/wires/inlined-data.ts'
import { routingBody } from '#data-plane/wires/routing-fields.ts'
import { AppError } from '#shared/errors.ts'
import { mustBe } from '#shared/invalid-member.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import { checkPictureFile, MAX_SOURCES } from './sources.ts'

/** Fields that are numbers in JSON. */
const NUMBERS: ReadonlySet<string> = new Set([
  ...MEDIA_MEMBERS.image.read.n,
  'output_compression',
  'partial_images',
  'seed',
])

/** A form's fields as the members of a JSON request, and its images. */
export type FormMembers = { readonly body: JsonObject; readonly form: Form; readonly files: readonly FormFile[] }

/**
 * Reads the form of an edit, as official clients send it. Throws AppError: `unsupported_media_type`, `invalid_request`,
 * `mask_not_supported`, `too_many_input_images`, `image_required`, `invalid_image_input`, `request_too_large`.
 */
export function membersOfForm(raw: RawRequest): FormMembers {
  const form = readForm(raw.headers['content-type'] ?? '', raw.body)
  refuseElsewhereInForm(form.fields)
  const { routing, fields } = routingBody(form.fields)
  const body: Record<string, unknown> = { ...routing }
  for (const { name, value } of fields) {
    if (Object.hasOwn(body, name)) throw mustBe(name, 'given once')
    if (mayStandIn(value)) throw mustBe(name, 'a text without U+FFFF')
    if (/^(?:image|mask)/.test(name))
      throw new AppError('invalid_image_input', { message: notAFile(name), param: name })
    body[name] = NUMBERS.has(name) && /^-?\d{1,15}(?:\.\d+)?$/.test(value) ? Number(value) : flagOr(name, value)
  }
  return { body, form, files: pictures(form) }
}

function notAFile(name: string): string {
  return `${name} is a file in a form. As JSON it may be an https URL or a data: URI.`
}

function flagOr(name: string, value: string): unknown {
  return name === 'stream' && (value === 'true' || value === 'false') ? value === 'true' : value
}

function pictures({ files }: Form): readonly FormFile[] {
  for (const { name } of files) {
    if (name.startsWith('mask')) throw new AppError('mask_not_supported', { param: name })
    if (name !== 'image' && name !== 'image[]') throw mustBe(name, 'no file: pictures are in image')
  }
  if (files.length === 0) throw new AppError('image_required', { param: 'image' })
  if (files.length > MAX_SOURCES) throw new AppError('too_many_input_images', { param: 'image' })
  for (const { bytes } of files) checkPictureFile(bytes, 'image')
  return files
}
