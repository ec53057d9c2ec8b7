import { text } from 'node:stream/consumers'
import type { Page } from 'playwright-core'

/** The lines of the file that a table's button saves, column heads first. */
export async function savedBy(page: Page, table: string): Promise<string[]> {
  const whole = page.getByRole('table', { name: table, exact: true }).locator('xpath=../..')
  const [file] = await Promise.all([page.waitForEvent('download'), whole.getByRole('button', { name: 'CSV' }).click()])
  return (await text(await file.createReadStream())).trimEnd().split('\r\n')
}
