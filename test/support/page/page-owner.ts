import type { Browser } from 'playwright-core'
import { z } from 'zod'
import { newWallet } from '#test/support/doors/wallet.ts'
import { accountMenu, openPerson } from './page-browser.ts'
import { openWallet } from './page-wallet.ts'

const Made = z.object({ id: z.string() })

/** Opens a browser of a wallet user who owns an organisation that has invited another wallet. */
export async function openOwner(browser: Browser, url: string) {
  const person = await openPerson(browser, { url })
  const { context, page } = person
  await openWallet(context, newWallet())
  await page.goto(`${url}/sign-in?to=/buyer/organizations`)
  await page.getByRole('button', { name: 'Test wallet' }).click()
  await accountMenu(page).waitFor()
  const post = async (path: string, body: unknown) =>
    Made.parse(
      await page.evaluate(
        `fetch('${path}', ${JSON.stringify({
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })}).then((answer) => answer.json())`,
      ),
    ).id
  const organization = await post('/v1/organizations', { name: 'Acme' })
  await post(`/v1/organizations/${organization}/invitations`, { wallet: newWallet().address, role: 'developer' })
  return { ...person, organization }
}
