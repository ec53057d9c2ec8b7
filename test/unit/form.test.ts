import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readForm, writeForm } from '#data-plane/wires/form.ts'
import { AppError } from '#shared/errors.ts'

const TYPE = 'multipart/form-data; boundary=b'
const part = (head: string, value = 'x') => `--b\r\n${head}\r\n\r\n${value}\r\n`
const field = (name: string, value = 'x') => part(`Content-Disposition: form-data; name="${name}"`, value)
const read = (text: string, type = TYPE) => readForm(type, Buffer.from(text, 'latin1'))

function codeOf(text: string, type = TYPE): string {
  try {
    read(text, type)
    return 'read'
  } catch (error) {
    return error instanceof AppError ? error.code : String(error)
  }
}

describe('a form', () => {
  it('is read with its fields and files, whatever surrounds the parts', () => {
    const file = part(
      'content-type: audio/wav\r\ncontent-disposition: form-data; name=file; filename="a \\"b\\".wav"',
      '\r\n',
    )
    const { fields, files } = read(`preamble\r\n${field('model', 'caf\u00c3\u00a9')}${file}--b--\r\nepilogue`)
    expect(fields).toEqual([{ name: 'model', value: 'café' }])
    expect(files).toEqual([
      { name: 'file', filename: 'a "b".wav', contentType: 'audio/wav', bytes: Buffer.from('\r\n') },
    ])
  })

  it('keeps every value of a name, in order', () => {
    expect(read(`${field('a[]', '1')}${field('a[]', '2')}--b--`).fields.map(({ value }) => value)).toEqual(['1', '2'])
  })

  it.each([
    ['no bytes', ''],
    ['no boundary', 'x'],
    ['a cut opening', '--b'],
    ['another boundary', '--bx\r\n'],
    ['no end', field('a')],
    ['a cut head', '--b\r\nContent-Disposition: form-data; name="a"\r\n'],
    ['a part without a name', `${part('Content-Type: text/plain')}--b--`],
    ['a name with a blank', `${field('a b')}--b--`],
    ['a long name', `${field(`a${'x'.repeat(200)}`)}--b--`],
    ['a long value', `${field('a', 'x'.repeat(65_537))}--b--`],
    ['a long head', `${part(`x: ${'y'.repeat(5_000)}\r\nContent-Disposition: form-data; name="a"`)}--b--`],
    ['many parts', `${Array.from({ length: 65 }, (_, index) => field(`a${index}`)).join('')}--b--`],
  ])('is refused with %s', (_fault, text) => {
    expect(codeOf(text)).toBe('invalid_request')
  })

  it.each([
    '',
    'application/json',
    'multipart/form-data',
    'multipart/mixed; boundary=b',
    'multipart/form-data; boundary=',
    `multipart/form-data; boundary=${'b'.repeat(71)}`,
    'multipart/form-data; boundary="b\u0001"',
  ])('refuses the type %j', (type) => {
    expect(codeOf(`${field('a')}--b--`, type)).toBe('unsupported_media_type')
  })

  it('is never taken for whole when it is cut, at any byte', () => {
    const whole = `${field('a', '1')}${field('b', '2')}--b--`
    expect(codeOf(whole)).toBe('read')
    for (let cut = 0; cut < whole.length; cut++) expect(codeOf(whole.slice(0, cut))).toBe('invalid_request')
  })

  it('written again, reads the same in another parser, byte for byte, and shares the memory of the file', async () => {
    const name = fc.stringMatching(/^[\w.-]{1,20}(\[\])?$/)
    const value = fc.string({ maxLength: 80 }).filter((text) => !text.includes('----b') && !/[\r\n]/.test(text))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(name, value), { maxLength: 5 }),
        fc.uint8Array({ maxLength: 300 }),
        async (rows, file) => {
          const bytes = Buffer.from(file)
          const pieces = writeForm({
            boundary: '----b',
            fields: rows.map(([key, text]) => ({ name: key, value: text })),
            files: [{ name: 'file', filename: 'a"\r\nb.wav', contentType: 'audio/wav', bytes }],
          })
          expect(pieces.some((piece) => piece === bytes)).toBe(true)
          const whole = Buffer.concat(pieces)
          if (whole.indexOf('----b', 0, 'latin1') < 0) return
          const type = 'multipart/form-data; boundary="----b"'
          const ours = readForm(type, whole)
          expect(ours.fields).toEqual(rows.map(([key, text]) => ({ name: key, value: Buffer.from(text).toString() })))
          expect(ours.files[0]?.bytes.equals(bytes)).toBe(true)
          const theirs = await new Response(new Uint8Array(whole), { headers: { 'content-type': type } }).formData()
          const sent = theirs.get('file')
          expect(sent instanceof File && Buffer.from(await sent.arrayBuffer()).equals(bytes)).toBe(true)
          expect(sent instanceof File ? sent.name : '').toBe('a___b.wav')
        },
      ),
      { numRuns: 100 },
    )
  })
})
