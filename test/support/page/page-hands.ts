import type { Page } from 'playwright-core'
import { z } from 'zod'
import { waitForScreen } from './page-browser.ts'

/** A person's ways to use the page: each act by mouse, or by keyboard. */
export type Hands = {
  /** Opens a screen of the navigation, which `g` and its letter also open. */
  open(path: string, letter: string): Promise<void>
  /** Presses a button or follows a link. */
  press(name: string | RegExp): Promise<void>
  /** Replaces the value of a field. */
  write(field: string, text: string): Promise<void>
  tick(name: string | RegExp): Promise<void>
}

export type HandsKind = 'mouse' | 'keyboard'

/** Largest number of presses of Tab from the focus to the next wanted element. */
const MAX_TABS = 40
/** Number of characters of the focused element's name in a message. */
const MAX_NAME_CHARS = 40

export function handsOf(kind: HandsKind, page: Page): Hands {
  return kind === 'mouse' ? mouseOf(page) : keyboardOf(page)
}

function mouseOf(page: Page): Hands {
  return {
    open: (path) => leaving(page, () => page.getByRole('navigation').locator(`a[href="${path}"]`).click()),
    press: (name) =>
      page
        .getByRole('button', { name, exact: true })
        .or(page.getByRole('link', { name, exact: true }))
        .first()
        .click(),
    write: (field, text) => page.getByLabel(field, { exact: true }).fill(text),
    tick: (name) => page.getByLabel(name, { exact: true }).click(),
  }
}

function keyboardOf(page: Page): Hands {
  const { keyboard } = page
  return {
    open: (_path, letter) =>
      leaving(page, async () => {
        await keyboard.press('g')
        await keyboard.press(letter)
      }),
    async press(name) {
      await tabOnTo(page, 'a, button', name)
      await keyboard.press('Enter')
    },
    async write(field, text) {
      await tabOnTo(page, 'input, textarea', field)
      await keyboard.press('ControlOrMeta+a')
      await keyboard.type(text)
    },
    async tick(name) {
      await tabOnTo(page, 'input[type=checkbox]', name)
      await keyboard.press('Space')
    },
  }
}

/** Waits for the screen that an act opens. The address bar has the path before the screen is loaded. */
async function leaving(page: Page, act: () => Promise<void>): Promise<void> {
  const before = (await page.locator('main h1').textContent()) ?? ''
  await act()
  await page.locator('main h1').filter({ hasNotText: before }).waitFor()
  await waitForScreen(page)
}

const Focus = z.object({ name: z.string(), isKind: z.boolean(), isSeen: z.boolean() })

/**
 * Presses Tab until the element with this name has the focus. Throws when there are too many presses, or when the focus
 * is invisible.
 */
async function tabOnTo(page: Page, kind: string, wanted: string | RegExp): Promise<void> {
  const isWanted = (name: string) => (typeof wanted === 'string' ? name === wanted : wanted.test(name))
  const passed: string[] = []
  for (let tabs = 0; tabs < MAX_TABS; tabs++) {
    const { name, isKind, isSeen } = await focusOf(page, kind)
    if (tabs > 0 && !isSeen) throw new Error(`the focus on ${name} is invisible`)
    if (isKind && isWanted(name)) return
    passed.push(name.slice(0, MAX_NAME_CHARS))
    await page.keyboard.press('Tab')
  }
  throw new Error(`no Tab leads to ${wanted}, but to ${passed.join(' | ')}`)
}

/** The focused element. It counts as visible when it is in the window and has an outline. */
async function focusOf(page: Page, kind: string): Promise<z.infer<typeof Focus>> {
  const found = await page.evaluate(`(() => {
    const at = document.activeElement ?? document.body
    const text = at.labels?.[0] ?? at
    const name = at.getAttribute('aria-label') ?? text.textContent ?? ''
    const { top, bottom, left, right, width } = at.getBoundingClientRect()
    const isInside = width > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth
    const { outlineStyle, outlineWidth } = getComputedStyle(at)
    const isMarked = outlineStyle !== 'none' && parseFloat(outlineWidth) > 0
    // The end of the page is the browser's own frame.
    const isSeen = at === document.body || (isInside && isMarked)
    return { name: at === document.body ? 'the page' : name, isKind: at.matches(${JSON.stringify(kind)}), isSeen }
  })()`)
  return Focus.parse(found)
}
