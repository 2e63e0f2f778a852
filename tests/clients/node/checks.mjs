// Runs named checks one after the other and prints the result of each as a line of JSON.
export async function runChecks(checks) {
  for (const [name, check] of Object.entries(checks)) {
    let error = null;
    try {
      await check();
    } catch (caught) {
      error = caught?.stack ?? String(caught);
    }
    console.log(JSON.stringify({ name, error }));
  }
}

// Waits until a condition holds.
export async function until(condition, what) {
  for (let tries = 0; tries < 3000; tries++) {
    const value = await condition();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never: ${what}`);
}
