import type { Color, PDFDocument, PDFFont, PDFPage } from 'pdf-lib'
import { PDFDocument as Pdf, rgb, StandardFonts } from 'pdf-lib'
import { formatDollars } from '#shared/money.ts'

/** A statement as sums. Amounts are signed micro-USD. */
export type StatementSums = {
  readonly account: string
  readonly wallet: string | null
  /** `2026-11`. */
  readonly month: string
  /** Unix milliseconds. */
  readonly madeAt: number
  readonly opening: bigint
  readonly closing: bigint
  readonly kinds: ReadonlyMap<string, { readonly count: number; readonly amount: bigint }>
  readonly days: ReadonlyMap<string, { readonly received: bigint; readonly spent: bigint; readonly balance: bigint }>
}

/** A page of A4 in points, its margin, and the height of a line. */
const [WIDTH, HEIGHT, MARGIN, LINE] = [595.28, 841.89, 56, 16]
const [TITLE_SIZE, HEAD_SIZE, TEXT_SIZE, SMALL_SIZE] = [20, 12, 10, 8]
const INK = rgb(0.1, 0.1, 0.12)
const FAINT = rgb(0.42, 0.42, 0.46)
const RULE = rgb(0.85, 0.85, 0.87)

/** The words for the kinds of the ledger. Other kinds have their own names. */
const KIND_WORDS: Readonly<Record<string, string>> = {
  settle: 'Calls',
  escrow: 'Jobs, reserved',
  grant: 'Credit granted',
  deposit: 'Deposits',
  payment: 'Payments by wallet',
  refund: 'Refunds',
  withdrawal: 'Withdrawals',
  adjust: 'Adjustments',
  reverse: 'Reversals',
}

/**
 * Draws a statement: balances, sums by kind, and a line for each day with a change. Its length is bounded by a month.
 */
export async function drawStatement(sums: StatementSums): Promise<Uint8Array> {
  const document = await Pdf.create()
  const sheet = await createSheet(document)
  const { account, wallet, month, opening, closing, kinds, days, madeAt } = sums
  document.setTitle(`Statement ${month}`)
  document.setCreationDate(new Date(madeAt))
  sheet.title(`Statement ${month}`)
  sheet.row(['Account', account])
  sheet.row(['Wallet', wallet ?? 'none'])
  sheet.row(['Made', `${new Date(madeAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`])
  sheet.head(['Summary', '', 'Lines', 'US dollars'])
  sheet.row(['Opening balance', '', '', usd(opening)])
  for (const [kind, { count, amount }] of [...kinds].sort(([left], [right]) => (left < right ? -1 : 1))) {
    sheet.row([KIND_WORDS[kind] ?? kind.replaceAll('_', ' '), '', count.toLocaleString('en-US'), usd(amount)])
  }
  sheet.row(['Closing balance', '', '', usd(closing)], true)
  sheet.head(['Day (UTC)', 'In', 'Out', 'Balance'])
  for (const [day, { received, spent, balance }] of days) sheet.row([day, usd(received), usd(-spent), usd(balance)])
  sheet.note('Amounts are exact to a millionth of a US dollar, and equal the ledger. The CSV file has every line.')
  return document.save()
}

function usd(micro: bigint): string {
  const [whole = '0', decimals = ''] = formatDollars(micro < 0n ? -micro : micro).split('.')
  return `${micro < 0n ? '-' : ''}${BigInt(whole).toLocaleString('en-US')}.${decimals.padEnd(6, '0')}`
}

type Sheet = {
  title(text: string): void
  head(cells: readonly string[]): void
  row(cells: readonly string[], isStrong?: boolean): void
  note(text: string): void
}

/** Right edges of the second and later columns. The first one begins at the margin. */
const EDGES = [330, 440, WIDTH - MARGIN]

/** Writes lines from the top down, on as many pages as they need. */
async function createSheet(document: PDFDocument): Promise<Sheet> {
  const plain = await document.embedFont(StandardFonts.Helvetica)
  const bold = await document.embedFont(StandardFonts.HelveticaBold)
  let page: PDFPage = document.addPage([WIDTH, HEIGHT])
  let y = HEIGHT - MARGIN
  const down = (height: number) => {
    y -= height
    if (y > MARGIN) return
    page = document.addPage([WIDTH, HEIGHT])
    y = HEIGHT - MARGIN - height
  }
  const write = (text: string, x: number, style: { font: PDFFont; size: number; color?: Color }) =>
    page.drawText(text, { x, y, color: INK, ...style })
  const cells = (texts: readonly string[], font: PDFFont, color: Color = INK) => {
    for (const [at, text] of texts.entries()) {
      // Two cells are a name and its text, which begins where the text of all such lines begins.
      const isText = at === 1 && texts.length === 2
      const edge = EDGES[at - 1] ?? 0
      const x = at === 0 ? MARGIN : isText ? MARGIN + 80 : edge - font.widthOfTextAtSize(text, TEXT_SIZE)
      write(text, x, { font, size: TEXT_SIZE, color })
    }
  }
  return {
    title: (text) => {
      down(TITLE_SIZE)
      write(text, MARGIN, { font: bold, size: TITLE_SIZE })
      down(LINE)
    },
    head: (texts) => {
      down(LINE + HEAD_SIZE)
      cells(texts, bold, FAINT)
      page.drawLine({
        start: { x: MARGIN, y: y - LINE / 3 },
        end: { x: WIDTH - MARGIN, y: y - LINE / 3 },
        thickness: 0.75,
        color: RULE,
      })
      down(LINE / 3)
    },
    row: (texts, isStrong = false) => {
      down(LINE)
      cells(texts, isStrong ? bold : plain)
    },
    note: (text) => {
      down(LINE * 2)
      write(text, MARGIN, { font: plain, size: SMALL_SIZE, color: FAINT })
    },
  }
}
