import type { Picture } from './call-of.ts'

/** Four pictures of five megabytes in base64 fit into one call. */
export const MAX_PICTURES = 4
export const MAX_PICTURE_MB = 5
const MAX_PICTURE_BYTES = MAX_PICTURE_MB * 1_024 * 1_024
export const PICTURE_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const

type Read = { readonly pictures: readonly Picture[]; readonly fault: string | undefined }

/** Reads files in addition to the present pictures. A file that a message cannot hold is left out and named. */
export async function readPictures(files: readonly File[], before: readonly Picture[]): Promise<Read> {
  const pictures = [...before]
  const faults: string[] = []
  for (const file of files) {
    const fault = faultOf(file, pictures.length)
    if (fault === undefined) pictures.push({ name: file.name, bytes: file.size, url: await dataUrlOf(file) })
    else faults.push(fault)
  }
  return { pictures, fault: faults.length === 0 ? undefined : faults.join(' ') }
}

function faultOf({ name, type, size }: File, count: number): string | undefined {
  if (!PICTURE_TYPES.some((known) => known === type)) return `${name} is not a PNG, JPEG, WebP or GIF.`
  if (size > MAX_PICTURE_BYTES) return `${name} is larger than ${MAX_PICTURE_MB} MB.`
  return count >= MAX_PICTURES ? `A message takes ${MAX_PICTURES} pictures. ${name} was left out.` : undefined
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(new Error(`${file.name} could not be read.`))
    reader.readAsDataURL(file)
  })
}
