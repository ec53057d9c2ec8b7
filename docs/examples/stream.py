import os
from openai import OpenAI

client = OpenAI(base_url=os.environ["MARKET_URL"] + "/v1", api_key=os.environ["MARKET_KEY"])

stream = client.chat.completions.create(
    model="gpt-5-mini",
    messages=[{"role": "user", "content": "Count to five."}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
print()
