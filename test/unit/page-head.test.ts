import { expect, it } from 'vitest'
import type { Head, PageData } from '#control-plane/api/page/head-markup.ts'
import { withHead, withHome, withTitle } from '#control-plane/api/page/head-markup.ts'
import { HERO } from '#control-plane/dashboard/market/home/head.ts'

const DOCUMENT = `<html><head><meta name="description" content="A market." /><title>Inference market</title></head>
<body><div id="page"></div></body></html>`
const MARKUP = `</title></h1>"'><script>fail()</script><img src=x onerror=fail()> $& $1 $0.25`

const headOf = (text: string): Head => ({
  title: text,
  about: text,
  up: { path: '/models', label: 'All models' },
  figures: [{ label: text, value: text, hint: text }],
})
const knownOf = (text: string): PageData => [[['ModelHead', text], { name: text }]]

it('names of sellers and makers are text in the document, whatever markup they contain', () => {
  const html = withHead(DOCUMENT, headOf(MARKUP), knownOf(MARKUP))
  const plain = withHead(DOCUMENT, headOf('plain'), knownOf('plain'))
  const tags = (text: string) => text.match(/<[^>]*>/g)?.map((tag) => tag.replace(/ (content|data-known)="[^"]*"/, ''))
  expect(tags(html)).toEqual(tags(plain))
  const escaped = MARKUP.replaceAll('"', '&quot;').replaceAll('<', '&lt;').replace(/>/g, '&gt;').replace('$&', '$&amp;')
  expect(html).toContain(`<title>${escaped} · Surplus</title>`)
  expect(html).toContain(`<h1>${escaped}</h1><p>${escaped}</p>`)
})

it('the data in the document is the data that the server wrote', () => {
  const [, known = ''] = /data-known="([^"]*)"/.exec(withHead(DOCUMENT, headOf(MARKUP), knownOf(MARKUP))) ?? []
  const read = known.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  expect(JSON.parse(read)).toEqual(knownOf(MARKUP))
})

it('a link preview has the price and a shortened description', () => {
  const html = withHead(DOCUMENT, { ...headOf('x'.repeat(2_000)), title: 'A model' }, [])
  expect(/name="description" content="([^"]*)"/.exec(html)?.[1]).toMatch(/^A model: x{291}$/)
})

it('home shows what the market is without a script, with links to both sides', () => {
  const html = withHome(DOCUMENT, knownOf('plain'))
  expect(html).toContain(`<h1>${HERO.title}</h1><p>${HERO.about}</p>`)
  expect([...html.matchAll(/<a class="button"[^>]* href="([^"]+)">/g)].map(([, href]) => href)).toEqual([
    '/start',
    '/seller/start',
  ])
})

it('a public screen has its title and its sentence in the document', () => {
  const html = withTitle(DOCUMENT, { title: 'Fees & <more>', about: 'Buyers pay $0.' })
  expect(html).toContain('<title>Fees &amp; &lt;more&gt; · Surplus</title>')
  expect(html).toContain('<h1>Fees &amp; &lt;more&gt;</h1><p>Buyers pay $0.</p>')
})
